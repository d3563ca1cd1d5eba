package spade;

import java.io.IOException;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.TopScoreDocCollector;

/** Collects the best hits of a query; for Lucene 9. */
final class TopHits {
  private TopHits() {}

  /** Returns the {@code size} best hits, best first; does not count further hits. */
  static ScoreDoc[] search(IndexSearcher searcher, Query query, int size) throws IOException {
    TopScoreDocCollector collector = TopScoreDocCollector.create(size, size);
    searcher.search(query, collector);
    return collector.topDocs().scoreDocs;
  }
}
