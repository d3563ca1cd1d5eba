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

/** What is in an impact index: document vectors, taken together again, and figures. */
public final class ImpactPostings implements AutoCloseable {
  private final Directory directory;
  private final DirectoryReader reader;
  private final int[] numbers; // of documents, without those that were deleted: -1
  private final int[] documents; // of numbers

  public ImpactPostings(String index) throws IOException {
    directory = FSDirectory.open(Path.of(index));
    reader = DirectoryReader.open(directory);
    numbers = new int[reader.maxDoc()];
    documents = new int[reader.numDocs()];
    int next = 0;
    for (LeafReaderContext leaf : reader.leaves()) {
      Bits live = leaf.reader().getLiveDocs();
      for (int document = 0; document < leaf.reader().maxDoc(); document++) {
        boolean there = live == null || live.get(document);
        numbers[leaf.docBase + document] = there ? next : -1;
        if (there) {
          documents[next++] = leaf.docBase + document;
        }
      }
    }
  }

  /**
   * Lucene's own check of all files of an index: null if it is clean, else what is wrong with it.
   * It only reads, so it needs no lock; it throws where it cannot read.
   */
  public static String check(String index) throws IOException {
    ByteArrayOutputStream told = new ByteArrayOutputStream();
    try (Directory directory = FSDirectory.open(Path.of(index), NoLockFactory.INSTANCE);
        CheckIndex check = new CheckIndex(directory)) {
      check.setInfoStream(new PrintStream(told, true, StandardCharsets.UTF_8));
      if (check.checkIndex().clean) {
        return null;
      }
    } catch (CorruptIndexException
        | EOFException
        | FileNotFoundException
        | NoSuchFileException error) {
      return error.toString();
    }
    List<String> lines = told.toString(StandardCharsets.UTF_8).lines().toList();
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
   * The vectors of some documents, in one pass over all terms. Each is its terms and impacts,
   * "term impact" with line feeds between them, terms in the order of their bytes; null for a
   * document that is not there.
   */
  public String[] vectors(List<String> ids) throws IOException {
    Map<String, StringBuilder> lines = new HashMap<>();
    for (LeafReaderContext leaf : reader.leaves()) {
      TreeMap<Integer, StringBuilder> here = new TreeMap<>();
      for (String id : ids) {
        int document = find(leaf.reader(), id);
        if (document != DocIdSetIterator.NO_MORE_DOCS) {
          lines.put(id, new StringBuilder());
          here.put(document, lines.get(id));
        }
      }
      read(leaf.reader(), here);
    }
    return ids.stream().map(lines::get).map(x -> x == null ? null : x.toString())
        .toArray(String[]::new);
  }

  /** The vectors of the documents from one number to before another; numbers as in {@link #ids}. */
  public String[] vectors(int from, int to) throws IOException {
    StringBuilder[] lines = new StringBuilder[to - from];
    Arrays.setAll(lines, place -> new StringBuilder());
    for (LeafReaderContext leaf : reader.leaves()) {
      TreeMap<Integer, StringBuilder> here = new TreeMap<>();
      for (int number = from; number < to; number++) {
        int document = documents[number] - leaf.docBase;
        if (0 <= document && document < leaf.reader().maxDoc()) {
          here.put(document, lines[number - from]);
        }
      }
      read(leaf.reader(), here);
    }
    return Arrays.stream(lines).map(StringBuilder::toString).toArray(String[]::new);
  }

  /** The document of an id that was not deleted, or NO_MORE_DOCS. */
  static int find(LeafReader leaf, String id) throws IOException {
    PostingsEnum named = leaf.postings(new Term("id", id), PostingsEnum.NONE);
    Bits live = leaf.getLiveDocs();
    int document = named == null ? DocIdSetIterator.NO_MORE_DOCS : named.nextDoc();
    while (document != DocIdSetIterator.NO_MORE_DOCS && live != null && !live.get(document)) {
      document = named.nextDoc();
    }
    return document;
  }

  /** The ids of a segment's documents. */
  static BinaryDocValues names(LeafReader leaf) throws IOException {
    BinaryDocValues names = leaf.getBinaryDocValues("id");
    if (names == null) {
      throw new IOException("its documents have no binary doc value `id`, as Anserini gives them");
    }
    return names;
  }

  static BytesRef name(BinaryDocValues names, int document) throws IOException {
    if (!names.advanceExact(document)) {
      throw new IOException("document number " + document + " of a segment has no `id`");
    }
    return names.binaryValue();
  }

  private static void read(LeafReader leaf, TreeMap<Integer, StringBuilder> wanted)
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
        int at = postings.advance(sorted[next]);
        int place = Arrays.binarySearch(sorted, next, sorted.length, at);
        if (place >= 0) {
          StringBuilder line = wanted.get(at);
          line.append(all.term().utf8ToString()).append(' ').append(postings.freq()).append('\n');
        }
        next = place < 0 ? -place - 1 : place + 1; // the first that is beyond
      }
    }
  }

  /** All terms that a document has, in the order of their bytes. */
  public String[] terms() throws IOException {
    List<String> found = new ArrayList<>();
    Terms all = MultiTerms.getTerms(reader, "contents");
    TermsEnum each = all == null ? TermsEnum.EMPTY : all.iterator();
    while (each.next() != null) {
      found.add(each.term().utf8ToString());
    }
    return found.toArray(String[]::new);
  }

  /** The postings of a term: document, impact, document, impact... Documents as in {@link #ids}. */
  public int[] postings(String term) throws IOException {
    PostingsEnum each = MultiTerms.getTermPostingsEnum(reader, "contents", new BytesRef(term));
    int[] found = new int[64];
    int size = 0;
    while (each != null && each.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) {
      if (numbers[each.docID()] < 0) {
        continue;
      }
      if (size == found.length) {
        found = Arrays.copyOf(found, 2 * size);
      }
      found[size++] = numbers[each.docID()];
      found[size++] = each.freq();
    }
    return Arrays.copyOf(found, size);
  }

  /** The ids of all documents that were not deleted, a line each: the first is number 0. */
  public String ids() throws IOException {
    StringBuilder lines = new StringBuilder();
    for (LeafReaderContext leaf : reader.leaves()) {
      BinaryDocValues names = names(leaf.reader());
      for (int document = 0; document < leaf.reader().maxDoc(); document++) {
        if (numbers[leaf.docBase + document] >= 0) {
          lines.append(name(names, document).utf8ToString()).append('\n');
        }
      }
    }
    return lines.toString();
  }

  /**
   * Figures of the documents that were not deleted. A line each: "terms N", "postings N",
   * "length N..." (of every document, ascending), "impact I N" (postings with that impact), and
   * "term T N I" for the most frequent terms (documents, sum of impacts).
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
    int[] kept = new int[reader.numDocs()];
    int place = 0;
    for (int document = 0; document < lengths.length; document++) {
      if (numbers[document] >= 0) {
        kept[place++] = lengths[document];
      }
    }
    Arrays.sort(kept);
    for (int length : kept) {
      lines.append(' ').append(length);
    }
    impacts.forEach((impact, number) -> lines.append("\nimpact " + impact + " " + number));
    terms.entrySet().stream()
        .sorted(
            Map.Entry.<String, long[]>comparingByValue((one, two) -> Long.compare(two[0], one[0]))
                .thenComparing(Map.Entry.comparingByKey()))
        .limit(mostFrequent)
        .forEach(
            term ->
                lines.append(
                    "\nterm " + term.getKey() + " " + term.getValue()[0] + " "
                        + term.getValue()[1]));
    return lines.toString();
  }

  private long count(
      LeafReaderContext context,
      Map<String, long[]> terms,
      TreeMap<Integer, Long> impacts,
      int[] lengths)
      throws IOException {
    LeafReader leaf = context.reader();
    long[] counted = new long[1 << 16];
    long postings = 0;
    Terms all = leaf.terms("contents");
    TermsEnum each = all == null ? TermsEnum.EMPTY : all.iterator();
    PostingsEnum found = null;
    while (each.next() != null) {
      found = each.postings(found, PostingsEnum.FREQS);
      long documents = 0;
      long sum = 0;
      while (found.nextDoc() != DocIdSetIterator.NO_MORE_DOCS) {
        int document = context.docBase + found.docID();
        if (numbers[document] >= 0) {
          lengths[document]++;
          documents++;
          sum += found.freq();
          if (found.freq() < counted.length) {
            counted[found.freq()]++;
          } else {
            impacts.merge(found.freq(), 1L, Long::sum);
          }
        }
      }
      if (documents > 0) {
        postings += documents;
        long[] known = terms.computeIfAbsent(each.term().utf8ToString(), name -> new long[2]);
        known[0] += documents;
        known[1] += sum;
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
