package spade;

import io.anserini.search.similarity.ImpactSimilarity;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.index.ConcurrentMergeScheduler;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogByteSizeMergePolicy;
import org.apache.lucene.index.MergePolicy;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.SegmentInfos;
import org.apache.lucene.index.SlowCodecReaderWrapper;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.index.TieredMergePolicy;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.Version;

/**
 * Writes vectors to a Lucene index, each impact as the frequency of its term.
 *
 * <p>The index has the same contents as an index of Anserini's IndexCollection, which repeats every
 * term as often as its impact: the fields "id" (stored, and as a doc value) and "contents"
 * (documents and frequencies). Each file is read by one thread, which inverts the vectors in memory
 * and writes a segment whenever its share of the memory is full.
 */
public final class ImpactIndexer {
  private final IndexWriter writer;
  private final int createdVersion; // major version of the Lucene that created the index
  private final boolean replace;
  private final long limit; // bytes of memory for the segment of a thread
  private final ConcurrentLinkedQueue<String> files;
  private final Pruning pruning;
  private final ForeignRules rules; // null for vectors that need no checks
  private final ReadCounts counts = new ReadCounts();
  private volatile Throwable failure;
  private volatile boolean done;

  private ImpactIndexer(
      IndexWriter writer,
      List<String> files,
      boolean replace,
      long limit,
      Pruning pruning,
      ForeignRules rules)
      throws IOException {
    this.writer = writer;
    this.createdVersion =
        replace
            ? SegmentInfos.readLatestCommit(writer.getDirectory()).getIndexCreatedVersionMajor()
            : Version.LATEST.major;
    this.files = new ConcurrentLinkedQueue<>(files);
    this.replace = replace;
    this.limit = limit;
    this.pruning = pruning;
    this.rules = rules;
  }

  /**
   * Starts indexing in the background and returns at once; {@link #documents} and {@link #done}
   * report the progress. With one thread, documents keep their order.
   *
   * @param create start a new index; otherwise documents are added to an existing one, where they
   *     replace documents with the same ids
   * @param megabytes memory of all threads together
   * @param segments merge to this number of segments at the end; 0 for no such merge
   * @param pruning removes terms from each document before it is indexed
   * @param rules what vectors of another tool must satisfy, or null for our own
   */
  public static ImpactIndexer start(
      List<String> files,
      String index,
      boolean create,
      int threads,
      double megabytes,
      int segments,
      Pruning pruning,
      ForeignRules rules)
      throws IOException {
    IndexWriter writer = writer(index, create, threads);
    double memory = Math.min(megabytes * 1e6, Runtime.getRuntime().maxMemory() / 4.0);
    long limit = (long) (memory / threads);
    ImpactIndexer indexer =
        new ImpactIndexer(writer, new ArrayList<>(files), !create, limit, pruning, rules);
    Thread main = new Thread(() -> indexer.run(threads, segments), "impact-indexer");
    main.setDaemon(true);
    main.start();
    return indexer;
  }

  /** Deletes documents by their ids; returns how many the index had. */
  public static int delete(String index, List<String> ids) throws IOException {
    try (IndexWriter writer = writer(index, false, 1)) {
      int before = writer.getDocStats().numDocs;
      writer.deleteDocuments(ids.stream().map(id -> new Term("id", id)).toArray(Term[]::new));
      writer.commit();
      return before - writer.getDocStats().numDocs;
    }
  }

  private static IndexWriter writer(String index, boolean create, int threads)
      throws IOException {
    IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer()); // not used
    config.setSimilarity(new ImpactSimilarity());
    config.setOpenMode(
        create ? IndexWriterConfig.OpenMode.CREATE : IndexWriterConfig.OpenMode.APPEND);
    ConcurrentMergeScheduler scheduler = new ConcurrentMergeScheduler(); // also for addIndexes
    scheduler.setMaxMergesAndThreads(threads + 2, threads);
    scheduler.disableAutoIOThrottle();
    config.setMergeScheduler(scheduler);
    MergePolicy merges = // LogByteSizeMergePolicy keeps the order of documents
        threads == 1 ? new LogByteSizeMergePolicy() : new TieredMergePolicy();
    merges.setNoCFSRatio(0);
    config.setMergePolicy(merges);
    return new IndexWriter(FSDirectory.open(Path.of(index)), config);
  }

  /** Returns the number of documents read so far. */
  public long documents() {
    return counts.documents.sum();
  }

  /**
   * Returns how many documents, empty documents, postings and impacts were read, and how many
   * postings and impacts of them were indexed.
   */
  public long[] counts() {
    return counts.all();
  }

  /** Returns whether indexing has ended, with or without a failure. */
  public boolean done() {
    return done;
  }

  /** Stops indexing, discards what was not committed, and waits until that is done. */
  public void stop() throws InterruptedException {
    fail(new IOException("stopped"));
    while (!done) {
      Thread.sleep(10);
    }
  }

  /** Returns the message of the first failure, or null. */
  public String failure() {
    return failure == null ? null : VectorFile.messageOf(failure);
  }

  /** Returns the file of another tool that has a bad vector, or null. */
  public String badFile() {
    return failure instanceof BadVectors bad ? bad.file : null;
  }

  /** Returns a line of that file; those before it are valid. */
  public int badLine() {
    return failure instanceof BadVectors bad ? bad.line : 0;
  }

  /** Returns the id that occurs twice in the files of another tool, or null. */
  public String repeatedId() {
    return failure instanceof BadVectors bad ? bad.id : null;
  }

  private synchronized void fail(Throwable error) {
    failure = failure == null ? error : failure;
  }

  private void run(int threads, int segments) {
    List<Thread> workers = new ArrayList<>();
    for (int number = 0; number < threads; number++) {
      Thread worker = new Thread(this::work, "impact-indexer-" + number);
      worker.setDaemon(true);
      worker.start();
      workers.add(worker);
    }
    try {
      for (Thread worker : workers) {
        worker.join();
      }
      if (failure == null && segments > 0) {
        writer.forceMerge(segments);
      }
      if (failure == null) {
        writer.commit();
      }
      if (failure == null && rules != null) {
        checkIds();
      }
    } catch (Throwable error) {
      fail(error);
    } finally {
      close();
      done = true;
    }
  }

  /** Throws if an id is in several segments. */
  private void checkIds() throws IOException {
    try (DirectoryReader reader = DirectoryReader.open(writer)) {
      Terms ids = MultiTerms.getTerms(reader, "id");
      TermsEnum each = ids == null ? TermsEnum.EMPTY : ids.iterator();
      for (BytesRef id = each.next(); id != null; id = each.next()) {
        if (each.docFreq() > 1) {
          throw new BadVectors(id.utf8ToString());
        }
      }
    }
  }

  private void close() {
    try {
      if (failure == null) {
        writer.close();
      } else {
        writer.rollback();
      }
      writer.getDirectory().close();
    } catch (Throwable error) {
      fail(error);
    }
  }

  private void work() {
    Vector vector = new Vector();
    ForeignChecks checks = rules == null ? null : new ForeignChecks(rules);
    ImpactSegment segment = new ImpactSegment(createdVersion);
    try {
      for (String file = files.poll(); file != null && failure == null; file = files.poll()) {
        segment = read(new VectorFile(file, checks), vector, segment);
      }
      if (failure == null) {
        write(segment);
      }
    } catch (Throwable error) {
      fail(error);
    }
  }

  /** Adds the documents of a file to a segment; returns it, or a new one if it was written. */
  private ImpactSegment read(VectorFile vectors, Vector vector, ImpactSegment first)
      throws IOException {
    ImpactSegment segment = first;
    try (VectorFile file = vectors) {
      while (failure == null && file.next(vector)) {
        counts.read(vector);
        pruning.apply(vector);
        counts.kept(vector);
        add(file, vector, segment);
        if (segment.bytes() >= limit) {
          write(segment);
          segment = new ImpactSegment(createdVersion);
        }
      }
    }
    return segment;
  }

  /** Adds a document to a segment. An empty one replaces a document of the index only. */
  private void add(VectorFile file, Vector vector, ImpactSegment segment) throws IOException {
    if (vector.size > 0) {
      try {
        segment.add(vector.id, vector.terms, vector.impacts, vector.size);
      } catch (IOException | RuntimeException error) {
        throw file.at(error);
      }
    } else if (replace) {
      writer.deleteDocuments(new Term("id", vector.id));
    }
  }

  private void write(ImpactSegment segment) throws IOException {
    if (segment.maxDoc() == 0) {
      return;
    }
    if (replace) {
      Stream<Term> ids = segment.ids().stream().map(id -> new Term("id", id));
      writer.deleteDocuments(ids.toArray(Term[]::new));
    }
    String repeated = rules == null ? null : segment.repeatedId();
    if (repeated != null) {
      throw new BadVectors(repeated);
    }
    writer.addIndexes(SlowCodecReaderWrapper.wrap(segment));
  }
}
