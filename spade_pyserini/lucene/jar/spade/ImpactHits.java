package spade;

import io.anserini.search.similarity.ImpactSimilarity;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.ReaderUtil;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.BoostQuery;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;

/**
 * Searches an impact index with boolean or weighted queries, a batch of them per call.
 *
 * <p>The hits are the same as those of Anserini's searcher: best score first, ties by id. It is
 * faster because it reads ids from doc values in index order, where Anserini reads stored fields in
 * the order of the hits.
 */
public final class ImpactHits implements AutoCloseable {
  private static final int EXTRA = 256; // hits to collect beyond the requested ones, to find ties

  private final Directory directory;
  private final DirectoryReader reader;
  private final IndexSearcher searcher;

  public ImpactHits(String index) throws IOException {
    directory = FSDirectory.open(Path.of(index));
    reader = DirectoryReader.open(directory);
    searcher = new IndexSearcher(reader);
    searcher.setSimilarity(new ImpactSimilarity());
    searcher.setQueryCache(null);
    try {
      for (LeafReaderContext leaf : reader.leaves()) {
        ImpactPostings.idValues(leaf.reader()); // throws if the index has no ids
      }
    } catch (IOException error) {
      close();
      throw error;
    }
  }

  /** Returns the number of documents, without deleted ones. */
  public int documents() {
    return reader.numDocs();
  }

  /**
   * Searches all queries and returns the hits of each, best first.
   *
   * @param queries the terms of each query, separated by blanks; a weight other than 1 follows its
   *     term after a tab
   * @return a string for each query, with a line "score id" for each hit
   */
  public List<String> search(List<String> queries, int hits, int threads) throws Exception {
    List<String> answers = new ArrayList<>(queries.size());
    if (threads == 1 || queries.size() == 1) {
      for (String query : queries) {
        answers.add(search(query, hits));
      }
      return answers;
    }
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Future<String>> futures = new ArrayList<>();
      for (String query : queries) {
        futures.add(pool.submit(() -> search(query, hits)));
      }
      for (Future<String> future : futures) {
        answers.add(future.get());
      }
      return answers;
    } catch (ExecutionException error) {
      throw error.getCause() instanceof Exception cause ? cause : error;
    } finally {
      pool.shutdownNow();
    }
  }

  /** Returns the hits of one query: a line "score id" for each. */
  public String search(String terms, int hits) throws IOException {
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    for (String term : terms.split(" ")) {
      query.add(clause(term), BooleanClause.Occur.SHOULD);
    }
    ScoreDoc[] best = best(query.build(), hits);
    BytesRef[] ids = ids(best);
    Integer[] order = new Integer[best.length];
    Arrays.setAll(order, index -> index);
    Arrays.sort(
        order,
        (first, second) ->
            best[first].score == best[second].score
                ? ids[first].compareTo(ids[second])
                : Float.compare(best[second].score, best[first].score));
    StringBuilder lines = new StringBuilder(hits * 16);
    for (int rank = 0; rank < Math.min(hits, order.length); rank++) {
      lines.append((long) best[order[rank]].score).append(' ');
      lines.append(ids[order[rank]].utf8ToString()).append('\n');
    }
    return lines.toString();
  }

  /** Returns the query of a term, or of a term, a tab and its weight. */
  private static Query clause(String term) {
    int tab = term.indexOf('\t');
    if (tab < 0) {
      return new TermQuery(new Term("contents", term));
    }
    Query query = new TermQuery(new Term("contents", term.substring(0, tab)));
    return new BoostQuery(query, Integer.parseInt(term.substring(tab + 1)));
  }

  /** Returns the best hits and all that tie with the last of them; ties are not ordered by id. */
  private ScoreDoc[] best(Query query, int hits) throws IOException {
    int most = Math.max(1, reader.maxDoc());
    int last = Math.min(hits, most) - 1;
    // Collect more hits until one has a lower score than the last requested hit.
    for (int size = Math.min(most, hits + EXTRA); ; size = (int) Math.min(most, 4L * size)) {
      ScoreDoc[] top = TopHits.search(searcher, query, size);
      if (top.length < size || size == most || top[size - 1].score < top[last].score) {
        int end = top.length;
        while (end > last + 1 && top[end - 1].score < top[last].score) {
          end--;
        }
        return Arrays.copyOf(top, end);
      }
    }
  }

  /**
   * Returns the impacts of some terms in a document: a line "term impact" for each term that it
   * has; null if there is no such document.
   */
  public String impacts(String terms, String id) throws IOException {
    for (LeafReaderContext leaf : reader.leaves()) {
      int document = ImpactPostings.find(leaf.reader(), id);
      if (document == DocIdSetIterator.NO_MORE_DOCS) {
        continue;
      }
      StringBuilder lines = new StringBuilder();
      for (String term : terms.split(" ")) {
        PostingsEnum postings = leaf.reader().postings(new Term("contents", term));
        if (postings != null && postings.advance(document) == document) {
          lines.append(term).append(' ').append(postings.freq()).append('\n');
        }
      }
      return lines.toString();
    }
    return null;
  }

  /**
   * Returns the vector of a document: a line "term impact" for each term, in byte order; null if
   * there is no such document. Reads all terms of the document's segment.
   */
  public String vector(String id) throws IOException {
    for (LeafReaderContext leaf : reader.leaves()) {
      int document = ImpactPostings.find(leaf.reader(), id);
      if (document != DocIdSetIterator.NO_MORE_DOCS) {
        TreeMap<Integer, StringBuilder> lines = new TreeMap<>();
        lines.put(document, new StringBuilder());
        ImpactPostings.read(leaf.reader(), lines);
        return lines.get(document).toString();
      }
    }
    return null;
  }

  /** Returns those of the terms that no document has, separated by blanks. */
  public String missing(String terms) throws IOException {
    StringBuilder missing = new StringBuilder();
    for (String term : terms.split(" ")) {
      if (reader.docFreq(new Term("contents", term)) == 0) {
        missing.append(term).append(' ');
      }
    }
    return missing.toString();
  }

  /**
   * Returns the document frequencies of some terms: a line "term frequency" for each. Documents
   * that were deleted count until their segment is merged.
   */
  public String frequencies(String terms) throws IOException {
    StringBuilder lines = new StringBuilder();
    for (String term : terms.split(" ")) {
      int documents = reader.docFreq(new Term("contents", term));
      lines.append(term).append(' ').append(documents).append('\n');
    }
    return lines.toString();
  }

  /** Returns the ids of the hits; reads them in the order of the documents. */
  private BytesRef[] ids(ScoreDoc[] hits) throws IOException {
    long[] order = new long[hits.length]; // document in the high, index of the hit in the low bits
    for (int hit = 0; hit < order.length; hit++) {
      order[hit] = ((long) hits[hit].doc << 32) | hit;
    }
    Arrays.sort(order);
    BytesRef[] ids = new BytesRef[hits.length];
    List<LeafReaderContext> leaves = reader.leaves();
    int end = 0;
    int base = 0;
    BinaryDocValues values = null;
    for (long entry : order) {
      int document = (int) (entry >> 32);
      if (document >= end) {
        LeafReaderContext leaf = leaves.get(ReaderUtil.subIndex(document, leaves));
        base = leaf.docBase;
        end = base + leaf.reader().maxDoc();
        values = ImpactPostings.idValues(leaf.reader());
      }
      ids[(int) entry] = BytesRef.deepCopyOf(ImpactPostings.id(values, document - base));
    }
    return ids;
  }

  @Override
  public void close() throws IOException {
    reader.close();
    directory.close();
  }
}
