package spade;

import java.util.concurrent.atomic.LongAdder;

/** Counts of the vectors that all threads have read, before and after pruning. */
final class ReadCounts {
  final LongAdder documents = new LongAdder();
  private final LongAdder empty = new LongAdder();
  private final LongAdder postings = new LongAdder();
  private final LongAdder impacts = new LongAdder();
  private final LongAdder keptPostings = new LongAdder();
  private final LongAdder keptImpacts = new LongAdder();

  /** Counts a document as it is in the file. */
  void read(Vector vector) {
    documents.increment();
    if (vector.size == 0) {
      empty.increment();
    }
    postings.add(vector.size);
    impacts.add(vector.sum());
  }

  /** Counts a document as it is indexed. */
  void kept(Vector vector) {
    keptPostings.add(vector.size);
    keptImpacts.add(vector.sum());
  }

  /** Returns documents, empty documents, postings, impacts, kept postings and kept impacts. */
  long[] all() {
    return new long[] {
      documents.sum(),
      empty.sum(),
      postings.sum(),
      impacts.sum(),
      keptPostings.sum(),
      keptImpacts.sum()
    };
  }
}
