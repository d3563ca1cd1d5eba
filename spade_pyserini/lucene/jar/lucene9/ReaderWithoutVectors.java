package spade;

import java.io.IOException;
import java.util.Map;
import org.apache.lucene.index.ByteVectorValues;
import org.apache.lucene.index.DocValuesType;
import org.apache.lucene.index.FieldInfo;
import org.apache.lucene.index.Fields;
import org.apache.lucene.index.FloatVectorValues;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.LeafReader;
import org.apache.lucene.index.StoredFieldVisitor;
import org.apache.lucene.index.VectorEncoding;
import org.apache.lucene.index.VectorSimilarityFunction;
import org.apache.lucene.search.KnnCollector;
import org.apache.lucene.util.Bits;

/** A reader without dense vectors and term vectors; for Lucene 9. */
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
        -1,
        Map.of(),
        0,
        0,
        0,
        0,
        VectorEncoding.FLOAT32,
        VectorSimilarityFunction.EUCLIDEAN,
        false);
  }

  @Override
  @SuppressWarnings("deprecation")
  public Fields getTermVectors(int document) {
    return null;
  }

  @Override
  @SuppressWarnings("deprecation")
  public void document(int document, StoredFieldVisitor visitor) throws IOException {
    storedFields().document(document, visitor);
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
      String field, float[] target, KnnCollector collector, Bits accepted) {}

  @Override
  public void searchNearestVectors(
      String field, byte[] target, KnnCollector collector, Bits accepted) {}
}
