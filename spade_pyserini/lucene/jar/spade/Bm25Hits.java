package spade;

import io.anserini.search.ScoredDoc;
import io.anserini.search.SimpleSearcher;
import java.io.IOException;
import org.apache.lucene.index.IndexReader;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.DocIdSetIterator;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.ScoreMode;
import org.apache.lucene.search.Scorer;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.similarities.BM25Similarity;

/**
 * Searches with Anserini's searcher and returns the hits as one string.
 *
 * <p>Otherwise Python would call Java for every field of every hit, which is slower than a search.
 */
public final class Bm25Hits {
  private Bm25Hits() {}

  /** Returns a line "score id" for each hit, best first. */
  public static String search(SimpleSearcher searcher, String query, int hits)
      throws IOException {
    StringBuilder lines = new StringBuilder(hits * 32);
    for (ScoredDoc hit : searcher.search(query, hits)) {
      lines.append((double) hit.score).append(' ').append(hit.docid).append('\n');
    }
    return lines.toString();
  }

  /** Returns a line "score term" for each of the terms that a document has. */
  public static String weights(IndexReader reader, String terms, String id, float k1, float b)
      throws IOException {
    IndexSearcher searcher = new IndexSearcher(reader);
    searcher.setSimilarity(new BM25Similarity(k1, b));
    StringBuilder lines = new StringBuilder();
    for (LeafReaderContext leaf : reader.leaves()) {
      int document = ImpactPostings.find(leaf.reader(), id);
      if (document == DocIdSetIterator.NO_MORE_DOCS) {
        continue;
      }
      for (String term : terms.split(" ")) {
        Scorer scorer =
            searcher
                .createWeight(new TermQuery(new Term("contents", term)), ScoreMode.COMPLETE, 1)
                .scorer(leaf);
        if (scorer != null && scorer.iterator().advance(document) == document) {
          lines.append((double) scorer.score()).append(' ').append(term).append('\n');
        }
      }
    }
    return lines.toString();
  }
}
