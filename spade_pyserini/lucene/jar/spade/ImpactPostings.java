package spade;

import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.CheckIndex;
import org.apache.lucene.index.CorruptIndexException;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.store.NoLockFactory;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;

/** Reads an impact index: document vectors, postings of terms, and statistics. */
public final class ImpactPostings implements AutoCloseable {
  private final Directory directory;
  private final DirectoryReader reader;
  private final int[] numbers; // by Lucene document: its number in ids(), -1 if deleted
  private final int[] documents; // by number in ids(): the Lucene document

  public ImpactPostings(String index) throws IOException {
    directory = FSDirectory.open(Path.of(index));
    reader = DirectoryReader.open(directory);
    numbers = new int[reader.maxDoc()];
    documents = new int[reader.numDocs()];
    int next = 0;
    for (LeafReaderContext leaf : reader.leaves()) {
      Bits live = leaf.reader().getLiveDocs();
      for (int document = 0; document < leaf.reader().maxDoc(); document++) {
        boolean alive = live == null || live.get(document);
        numbers[leaf.docBase + document] = alive ? next : -1;
        if (alive) {
          documents[next++] = leaf.docBase + document;
        }
      }
    }
  }

  /**
   * Runs Lucene's CheckIndex on all files of an index. Returns null if it is clean, otherwise the
   * first problem. It only reads, so it takes no lock; it throws if it cannot read the files.
   */
  public static String check(String index) throws IOException {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    try (Directory directory = FSDirectory.open(Path.of(index), NoLockFactory.INSTANCE);
        CheckIndex check = new CheckIndex(directory)) {
      check.setInfoStream(new PrintStream(output, true, StandardCharsets.UTF_8));
      if (check.checkIndex().clean) {
        return null;
      }
    } catch (CorruptIndexException
        | EOFException
        | FileNotFoundException
        | NoSuchFileException error) {
      return error.toString();
    }
    List<String> lines = output.toString(StandardCharsets.UTF_8).lines().toList();
    for (String sign : List.of("Exception", "ERROR")) {
      for (String line : lines) {
        if (line.contains(sign)) {
          return line.strip();
        }
      }
    }
    return "no segment can be read";
  }

  /**
   * Returns the vectors of some documents, in one pass over all terms. A vector is a line "term
   * impact" for each term, in byte order; it is null if there is no such document.
   */
  public String[] vectors(List<String> ids) throws IOException {
    Map<String, StringBuilder> lines = new HashMap<>();
    for (LeafReaderContext leaf : reader.leaves()) {
      TreeMap<Integer, StringBuilder> inSegment = new TreeMap<>();
      for (String id : ids) {
        int document = find(leaf.reader(), id);
        if (document != DocIdSetIterator.NO_MORE_DOCS) {
          lines.put(id, new StringBuilder());
          inSegment.put(document, lines.get(id));
        }
      }
      read(leaf.reader(), inSegment);
    }
    return ids.stream().map(lines::get).map(x -> x == null ? null : x.toString())
        .toArray(String[]::new);
  }

  /** Returns the vectors of documents {@code from} to {@code to - 1}, numbered as {@link #ids}. */
  public String[] vectors(int from, int to) throws IOException {
    StringBuilder[] lines = new StringBuilder[to - from];
    Arrays.setAll(lines, number -> new StringBuilder());
    for (LeafReaderContext leaf : reader.leaves()) {
      TreeMap<Integer, StringBuilder> inSegment = new TreeMap<>();
      for (int number = from; number < to; number++) {
        int document = documents[number] - leaf.docBase;
        if (0 <= document && document < leaf.reader().maxDoc()) {
          inSegment.put(document, lines[number - from]);
        }
      }
      read(leaf.reader(), inSegment);
    }
    return Arrays.stream(lines).map(StringBuilder::toString).toArray(String[]::new);
  }

  /** Returns the document with an id, or NO_MORE_DOCS if the segment has none or deleted it. */
  static int find(LeafReader leaf, String id) throws IOException {
    PostingsEnum postings = leaf.postings(new Term("id", id), PostingsEnum.NONE);
    Bits live = leaf.getLiveDocs();
    int document = postings == null ? DocIdSetIterator.NO_MORE_DOCS : postings.nextDoc();
    while (document != DocIdSetIterator.NO_MORE_DOCS && live != null && !live.get(document)) {
      document = postings.nextDoc();
    }
    return document;
  }

  /** Returns the doc values with the ids of a segment's documents. */
  static BinaryDocValues idValues(LeafReader leaf) throws IOException {
    BinaryDocValues values = leaf.getBinaryDocValues("id");
    if (values == null) {
      throw new IOException("its documents have no binary doc value `id`, which Anserini writes");
    }
    return values;
  }

  /** Returns the id of a document. */
  static BytesRef id(BinaryDocValues values, int document) throws IOException {
    if (!values.advanceExact(document)) {
      throw new IOException("document number " + document + " of a segment has no `id`");
    }
    return values.binaryValue();
  }

  /** Appends the terms and impacts of the wanted documents of a segment, in one pass. */
  static void read(LeafReader leaf, TreeMap<Integer, StringBuilder> wanted)
      throws IOException {
    Terms terms = leaf.terms("contents");
    if (terms == null || wanted.isEmpty()) {
      return;
    }
    int[] sorted = wanted.keySet().stream().mapToInt(Integer::intValue).toArray();
    TermsEnum all = terms.iterator();
    PostingsEnum postings = null;
    while (all.next() != null) {
      postings = all.postings(postings, PostingsEnum.FREQS);
      int next = 0;
      while (next < sorted.length) {
        int document = postings.advance(sorted[next]);
        int index = Arrays.binarySearch(sorted, next, sorted.length, document);
        if (index >= 0) {
          StringBuilder lines = wanted.get(document);
          lines.append(all.term().utf8ToString()).append(' ').append(postings.freq()).append('\n');
        }
        next = index < 0 ? -index - 1 : index + 1; // first wanted document after `document`
      }
    }
  }

  /** Returns all terms of the index, in byte order. */
  public String[] terms() throws IOException {
    List<String> terms = new ArrayList<>();
    Terms all = MultiTerms.getTerms(reader, "contents");
    TermsEnum each = all == null ? TermsEnum.EMPTY : all.iterator();
    while (each.next() != null) {
      terms.add(each.term().utf8ToString());
    }
    return terms.toArray(String[]::new);
  }

  /** Returns the postings of a term: number, impact, number, ... Numbers as in {@link #ids}. */
  public int[] postings(String term) throws IOException {
    PostingsEnum each = MultiTerms.getTermPostingsEnum(reader, "contents", new BytesRef(term));
    int[] pairs = new int[64];
    int size = 0;
    while (each != null && each.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) {
      if (numbers[each.docID()] < 0) {
        continue;
      }
      if (size == pairs.length) {
        pairs = Arrays.copyOf(pairs, 2 * size);
      }
      pairs[size++] = numbers[each.docID()];
      pairs[size++] = each.freq();
    }
    return Arrays.copyOf(pairs, size);
  }

  /** Returns a line with the id of each document, without deleted ones; the first is number 0. */
  public String ids() throws IOException {
    StringBuilder lines = new StringBuilder();
    for (LeafReaderContext leaf : reader.leaves()) {
      BinaryDocValues values = idValues(leaf.reader());
      for (int document = 0; document < leaf.reader().maxDoc(); document++) {
        if (numbers[leaf.docBase + document] >= 0) {
          lines.append(id(values, document).utf8ToString()).append('\n');
        }
      }
    }
    return lines.toString();
  }

  /**
   * Returns statistics without deleted documents, as lines: "terms N", "postings N", "length N..."
   * (of every document, ascending), "impact I N" (N postings have impact I), and "term T N I" for
   * the most frequent terms (N documents, sum I of impacts).
   */
  public String statistics(int mostFrequent) throws IOException {
    Map<String, long[]> terms = new HashMap<>();
    TreeMap<Integer, Long> impacts = new TreeMap<>();
    int[] lengths = new int[reader.maxDoc()];
    long postings = 0;
    for (LeafReaderContext leaf : reader.leaves()) {
      postings += count(leaf, terms, impacts, lengths);
    }
    StringBuilder lines = new StringBuilder();
    lines.append("terms ").append(terms.size()).append("\npostings ").append(postings);
    lines.append("\nlength");
    int[] alive = new int[reader.numDocs()];
    int next = 0;
    for (int document = 0; document < lengths.length; document++) {
      if (numbers[document] >= 0) {
        alive[next++] = lengths[document];
      }
    }
    Arrays.sort(alive);
    for (int length : alive) {
      lines.append(' ').append(length);
    }
    impacts.forEach((impact, number) -> lines.append("\nimpact " + impact + " " + number));
    terms.entrySet().stream()
        .sorted(
            Map.Entry.<String, long[]>comparingByValue((a, b) -> Long.compare(b[0], a[0]))
                .thenComparing(Map.Entry.comparingByKey()))
        .limit(mostFrequent)
        .forEach(
            term ->
                lines.append(
                    "\nterm " + term.getKey() + " " + term.getValue()[0] + " "
                        + term.getValue()[1]));
    return lines.toString();
  }

  /** Adds the counts of a segment to {@code terms}, {@code impacts} and {@code lengths}. */
  private long count(
      LeafReaderContext context,
      Map<String, long[]> terms,
      TreeMap<Integer, Long> impacts,
      int[] lengths)
      throws IOException {
    LeafReader leaf = context.reader();
    long[] counted = new long[1 << 16]; // postings of each small impact: faster than a map
    long postings = 0;
    Terms all = leaf.terms("contents");
    TermsEnum each = all == null ? TermsEnum.EMPTY : all.iterator();
    PostingsEnum entries = null;
    while (each.next() != null) {
      entries = each.postings(entries, PostingsEnum.FREQS);
      long documents = 0;
      long sum = 0;
      while (entries.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) {
        int document = context.docBase + entries.docID();
        if (numbers[document] >= 0) {
          lengths[document]++;
          documents++;
          sum += entries.freq();
          if (entries.freq() < counted.length) {
            counted[entries.freq()]++;
          } else {
            impacts.merge(entries.freq(), 1L, Long::sum);
          }
        }
      }
      if (documents > 0) {
        postings += documents;
        long[] totals = terms.computeIfAbsent(each.term().utf8ToString(), name -> new long[2]);
        totals[0] += documents;
        totals[1] += sum;
      }
    }
    for (int impact = 0; impact < counted.length; impact++) {
      if (counted[impact] > 0) {
        impacts.merge(impact, counted[impact], Long::sum);
      }
    }
    return postings;
  }

  @Override
  public void close() throws IOException {
    reader.close();
    directory.close();
  }
}
