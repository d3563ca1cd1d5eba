package spade;

import java.util.Map;
import org.apache.lucene.index.ByteVectorValues;
import org.apache.lucene.index.DocValuesSkipIndexType;
import org.apache.lucene.index.DocValuesSkipper;
import org.apache.lucene.index.DocValuesType;
import org.apache.lucene.index.FieldInfo;
import org.apache.lucene.index.FloatVectorValues;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.VectorEncoding;
import org.apache.lucene.index.VectorSimilarityFunction;
import org.apache.lucene.search.AcceptDocs;
import org.apache.lucene.search.KnnCollector;

/** A reader without dense vectors and skip indexes of doc values; for Lucene 10. */
abstract class ReaderWithoutVectors extends LeafReader {
  /** Returns the description of a field. */
  static FieldInfo field(
      String name, int number, boolean omitNorms, IndexOptions options, DocValuesType values) {
    return new FieldInfo(
        name,
        number,
        false,
        omitNorms,
        false,
        options,
        values,
        DocValuesSkipIndexType.NONE,
        -1,
        Map.of(),
        0,
        0,
        0,
        0,
        VectorEncoding.FLOAT32,
        VectorSimilarityFunction.EUCLIDEAN,
        false,
        false);
  }

  @Override
  public DocValuesSkipper getDocValuesSkipper(String field) {
    return null;
  }

  @Override
  public FloatVectorValues getFloatVectorValues(String field) {
    return null;
  }

  @Override
  public ByteVectorValues getByteVectorValues(String field) {
    return null;
  }

  @Override
  public void searchNearestVectors(
      String field, float[] target, KnnCollector collector, AcceptDocs accepted) {}

  @Override
  public void searchNearestVectors(
      String field, byte[] target, KnnCollector collector, AcceptDocs accepted) {}
}
