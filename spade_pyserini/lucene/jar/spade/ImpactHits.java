package spade;

import io.anserini.search.similarity.ImpactSimilarity;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
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
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopScoreDocCollector;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;

/**
 * Boolean queries on an impact index, many in one call, their hits in one answer.
 *
 * <p>Hits are those of Anserini's searcher: best score first, ties by id. Ids come from doc values,
 * in the order of the index, instead of from stored fields, in the order of the hits.
 */
public final class ImpactHits implements AutoCloseable {
  private static final int MORE = 256; // hits beyond the last that are looked at for ties

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
        ImpactPostings.names(leaf.reader());
      }
    } catch (IOException error) {
      close();
      throw error;
    }
  }

  /** Documents that were not deleted. */
  public int documents() {
    return reader.numDocs();
  }

  /**
   * A query is its terms with blanks between them. The answer to each is its hits, best first: a
   * line for each with score, blank, id.
   */
  public List<String> search(List<String> queries, int hits, int threads) throws Exception {
    List<String> found = new ArrayList<>(queries.size());
    if (threads == 1 || queries.size() == 1) {
      for (String query : queries) {
        found.add(search(query, hits));
      }
      return found;
    }
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Future<String>> waiting = new ArrayList<>();
      for (String query : queries) {
        waiting.add(pool.submit(() -> search(query, hits)));
      }
      for (Future<String> one : waiting) {
        found.add(one.get());
      }
      return found;
    } catch (ExecutionException error) {
      throw error.getCause() instanceof Exception cause ? cause : error;
    } finally {
      pool.shutdownNow();
    }
  }

  /** The hits of one query. */
  public String search(String terms, int hits) throws IOException {
    BooleanQuery.Builder query = new BooleanQuery.Builder();
    for (String term : terms.split(" ")) {
      query.add(new TermQuery(new Term("contents", term)), BooleanClause.Occur.SHOULD);
    }
    ScoreDoc[] best = best(query.build(), hits);
    BytesRef[] ids = ids(best);
    Integer[] order = new Integer[best.length];
    Arrays.setAll(order, place -> place);
    Arrays.sort(
        order,
        (one, two) ->
            best[one].score == best[two].score
                ? ids[one].compareTo(ids[two])
                : Float.compare(best[two].score, best[one].score));
    StringBuilder lines = new StringBuilder(hits * 16);
    for (int rank = 0; rank < Math.min(hits, order.length); rank++) {
      lines.append((long) best[order[rank]].score).append(' ');
      lines.append(ids[order[rank]].utf8ToString()).append('\n');
    }
    return lines.toString();
  }

  /** The best hits, and all others that have the last one's score: ids decide between them. */
  private ScoreDoc[] best(Query query, int hits) throws IOException {
    int most = Math.max(1, reader.maxDoc());
    int last = Math.min(hits, most) - 1;
    for (int asked = Math.min(most, hits + MORE); ; asked = (int) Math.min(most, 4L * asked)) {
      TopScoreDocCollector collector = TopScoreDocCollector.create(asked, asked);
      searcher.search(query, collector);
      ScoreDoc[] found = collector.topDocs().scoreDocs;
      if (found.length < asked || asked == most || found[asked - 1].score < found[last].score) {
        int end = found.length;
        while (end > last + 1 && found[end - 1].score < found[last].score) {
          end--;
        }
        return Arrays.copyOf(found, end);
      }
    }
  }

  /**
   * What a document has of some terms: a line for each with term, blank, impact; null if there is
   * no such document.
   */
  public String impacts(String terms, String id) throws IOException {
    for (LeafReaderContext leaf : reader.leaves()) {
      int document = ImpactPostings.find(leaf.reader(), id);
      if (document == DocIdSetIterator.NO_MORE_DOCS) {
        continue;
      }
      StringBuilder lines = new StringBuilder();
      for (String term : terms.split(" ")) {
        PostingsEnum found = leaf.reader().postings(new Term("contents", term));
        if (found != null && found.advance(document) == document) {
          lines.append(term).append(' ').append(found.freq()).append('\n');
        }
      }
      return lines.toString();
    }
    return null;
  }

  /** Those of some terms that no document has. */
  public String missing(String terms) throws IOException {
    StringBuilder found = new StringBuilder();
    for (String term : terms.split(" ")) {
      if (reader.docFreq(new Term("contents", term)) == 0) {
        found.append(term).append(' ');
      }
    }
    return found.toString();
  }

  private BytesRef[] ids(ScoreDoc[] hits) throws IOException {
    long[] order = new long[hits.length]; // document and place, to be sorted by document
    for (int place = 0; place < order.length; place++) {
      order[place] = ((long) hits[place].doc << 32) | place;
    }
    Arrays.sort(order);
    BytesRef[] ids = new BytesRef[hits.length];
    List<LeafReaderContext> leaves = reader.leaves();
    int end = 0;
    int base = 0;
    BinaryDocValues values = null;
    for (long one : order) {
      int document = (int) (one >> 32);
      if (document >= end) {
        LeafReaderContext leaf = leaves.get(ReaderUtil.subIndex(document, leaves));
        base = leaf.docBase;
        end = base + leaf.reader().maxDoc();
        values = ImpactPostings.names(leaf.reader());
      }
      ids[(int) one] = BytesRef.deepCopyOf(ImpactPostings.name(values, document - base));
    }
    return ids;
  }

  @Override
  public void close() throws IOException {
    reader.close();
    directory.close();
  }
}
