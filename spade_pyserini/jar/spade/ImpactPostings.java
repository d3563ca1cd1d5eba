package spade;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.CheckIndex;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.MultiTerms;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;

/** What is in an impact index: document vectors, taken together again, and figures. */
public final class ImpactPostings implements AutoCloseable {
  private final Directory directory;
  private final DirectoryReader reader;
  private final int[] numbers; // of documents, without those that were deleted: -1

  public ImpactPostings(String index) throws IOException {
    directory = FSDirectory.open(Path.of(index));
    reader = DirectoryReader.open(directory);
    numbers = new int[reader.maxDoc()];
    int next = 0;
    for (LeafReaderContext leaf : reader.leaves()) {
      Bits live = leaf.reader().getLiveDocs();
      for (int document = 0; document < leaf.reader().maxDoc(); document++) {
        boolean there = live == null || live.get(document);
        numbers[leaf.docBase + document] = there ? next++ : -1;
      }
    }
  }

  /** Lucene's own check of all files of an index: null if it is clean, else what is wrong. */
  public static String check(String index) throws IOException {
    ByteArrayOutputStream told = new ByteArrayOutputStream();
    try (Directory directory = FSDirectory.open(Path.of(index));
        CheckIndex check = new CheckIndex(directory)) {
      check.setInfoStream(new PrintStream(told, true, StandardCharsets.UTF_8));
      if (check.checkIndex().clean) {
        return null;
      }
    }
    return told.toString(StandardCharsets.UTF_8)
        .lines()
        .filter(line -> line.contains("Exception") || line.contains("ERROR"))
        .findFirst()
        .orElse("no segment can be read")
        .strip();
  }

  /**
   * The vectors of some documents, in one pass over all terms. Each is its terms and impacts,
   * "term impact" with line feeds between them, terms in the order of their bytes; null for a
   * document that is not there.
   */
  public String[] vectors(List<String> ids) throws IOException {
    Map<BytesRef, Integer> wanted = new HashMap<>();
    for (String id : ids) {
      wanted.putIfAbsent(new BytesRef(id), wanted.size());
    }
    StringBuilder[] lines = new StringBuilder[wanted.size()];
    for (LeafReaderContext leaf : reader.leaves()) {
      TreeMap<Integer, StringBuilder> here = new TreeMap<>();
      Bits live = leaf.reader().getLiveDocs();
      BinaryDocValues names = leaf.reader().getBinaryDocValues("id");
      for (int doc = 0; names != null && doc < leaf.reader().maxDoc(); doc++) {
        if ((live == null || live.get(doc)) && names.advanceExact(doc)) {
          Integer place = wanted.get(names.binaryValue());
          if (place != null) {
            lines[place] = new StringBuilder();
            here.put(doc, lines[place]);
          }
        }
      }
      if (!here.isEmpty()) {
        read(leaf.reader(), here);
      }
    }
    String[] found = new String[ids.size()];
    for (int place = 0; place < found.length; place++) {
      StringBuilder vector = lines[wanted.get(new BytesRef(ids.get(place)))];
      found[place] = vector == null ? null : vector.toString();
    }
    return found;
  }

  private static void read(LeafReader leaf, TreeMap<Integer, StringBuilder> wanted)
      throws IOException {
    Terms terms = leaf.terms("contents");
    if (terms == null) {
      return;
    }
    int[] documents = wanted.keySet().stream().mapToInt(Integer::intValue).toArray();
    TermsEnum all = terms.iterator();
    PostingsEnum postings = null;
    while (all.next() != null) {
      postings = all.postings(postings, PostingsEnum.FREQS);
      int at = postings.nextDoc();
      for (int next = 0; next < documents.length && at != DocIdSetIterator.NO_MORE_DOCS; next++) {
        if (at < documents[next]) {
          at = postings.advance(documents[next]);
        }
        if (at == documents[next]) {
          StringBuilder line = wanted.get(at);
          line.append(all.term().utf8ToString()).append(' ').append(postings.freq()).append('\n');
        }
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
      BinaryDocValues names = leaf.reader().getBinaryDocValues("id");
      for (int document = 0; document < leaf.reader().maxDoc(); document++) {
        if (numbers[leaf.docBase + document] >= 0 && names.advanceExact(document)) {
          lines.append(names.binaryValue().utf8ToString()).append('\n');
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
          counted[Math.min(found.freq(), counted.length - 1)]++;
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
