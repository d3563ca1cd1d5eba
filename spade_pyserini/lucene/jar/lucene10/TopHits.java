package spade;

import java.io.IOException;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TopScoreDocCollectorManager;

/** Collects the best hits of a query; for Lucene 10. */
final class TopHits {
  private TopHits() {}

  /** Returns the {@code size} best hits, best first; does not count further hits. */
  static ScoreDoc[] search(IndexSearcher searcher, Query query, int size) throws IOException {
    return searcher.search(query, new TopScoreDocCollectorManager(size, null, size)).scoreDocs;
  }
}
