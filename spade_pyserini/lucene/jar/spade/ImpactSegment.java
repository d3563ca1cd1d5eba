package spade;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntFunction;
import org.apache.lucene.index.BaseTermsEnum;
import org.apache.lucene.index.BinaryDocValues;
import org.apache.lucene.index.DocValuesType;
import org.apache.lucene.index.FieldInfo;
import org.apache.lucene.index.FieldInfos;
import org.apache.lucene.index.ImpactsEnum;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.LeafMetaData;
import org.apache.lucene.index.NumericDocValues;
import org.apache.lucene.index.PointValues;
import org.apache.lucene.index.PostingsEnum;
import org.apache.lucene.index.SortedDocValues;
import org.apache.lucene.index.SortedNumericDocValues;
import org.apache.lucene.index.SortedSetDocValues;
import org.apache.lucene.index.StoredFieldVisitor;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.index.TermVectors;
import org.apache.lucene.index.Terms;
import org.apache.lucene.index.TermsEnum;
import org.apache.lucene.util.Bits;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.Version;

/**
 * An inverted index of documents in memory, as a reader that {@link IndexWriter#addIndexes} writes
 * as a segment.
 *
 * <p>The terms of a vector are distinct and have their frequencies, so Lucene's inversion of text,
 * token by token, is not needed; it would take most of the time.
 */
final class ImpactSegment extends ReaderWithoutVectors {
  private static final String ID = "id";
  private static final String CONTENTS = "contents";
  private static final int POSTING = 10; // bytes of a posting: two integers, and unused capacity
  private static final int ENTRY = 200; // bytes of a document or a term without its postings

  private final int createdVersion;
  private final List<String> ids = new ArrayList<>();
  private final Map<String, Postings> terms = new HashMap<>(1 << 15);
  private long bytes;
  private long postings;
  private long frequencies;
  private BytesRef[] idBytes; // of all documents; null until the segment is written

  /**
   * @param createdVersion major version of the Lucene that created the index of the segment; Lucene
   *     refuses a segment with another version
   */
  ImpactSegment(int createdVersion) {
    this.createdVersion = createdVersion;
  }

  /** Returns an estimate of the memory of this segment, in bytes. */
  long bytes() {
    return bytes;
  }

  List<String> ids() {
    return ids;
  }

  /** Returns an id that occurs twice, or null. */
  String repeatedId() {
    Set<String> distinct = new HashSet<>();
    return ids.stream().filter(id -> !distinct.add(id)).findFirst().orElse(null);
  }

  /** Adds a document: the first {@code size} words with their impacts. */
  void add(String id, String[] words, int[] impacts, int size) throws IOException {
    int document = ids.size();
    long length = 0;
    check(id);
    for (int i = 0; i < size; i++) {
      Postings list = terms.get(words[i]);
      if (list == null) {
        list = new Postings(check(words[i]));
        terms.put(words[i], list);
        bytes += ENTRY;
      }
      list.add(document, impacts[i]);
      length += impacts[i];
    }
    ids.add(id);
    bytes += ENTRY + (long) POSTING * size;
    postings += size;
    frequencies += length;
  }

  /** Returns the bytes of a term or id; throws if Lucene cannot index it. */
  private static BytesRef check(String term) throws IOException {
    BytesRef bytes = new BytesRef(term);
    if (bytes.length > IndexWriter.MAX_TERM_LENGTH) {
      throw new IOException("a term or id of " + bytes.length + " bytes is too long for Lucene");
    }
    return bytes;
  }

  /** The postings of a term: pairs of a document and an impact. */
  private static final class Postings {
    final BytesRef term;
    int[] pairs = new int[8];
    int size;
    long frequencies;

    Postings(BytesRef term) {
      this.term = term;
    }

    void add(int document, int impact) throws IOException {
      if (size > 0 && pairs[size - 2] == document) {
        throw new IOException("the term " + term.utf8ToString() + " occurs twice");
      }
      if (size == pairs.length) {
        pairs = Arrays.copyOf(pairs, size + (size >> 1 & ~1));
      }
      pairs[size++] = document;
      pairs[size++] = impact;
      frequencies += impact;
    }
  }

  // The parts of a segment

  @Override
  public FieldInfos getFieldInfos() {
    FieldInfo id = field(ID, 0, true, IndexOptions.DOCS, DocValuesType.BINARY);
    FieldInfo contents =
        field(CONTENTS, 1, false, IndexOptions.DOCS_AND_FREQS, DocValuesType.NONE);
    return new FieldInfos(new FieldInfo[] {id, contents});
  }

  private BytesRef[] idBytes() {
    if (idBytes == null) {
      idBytes = ids.stream().map(BytesRef::new).toArray(BytesRef[]::new);
    }
    return idBytes;
  }

  @Override
  public Terms terms(String field) {
    if (field.equals(CONTENTS)) {
      Postings[] sorted = terms.values().toArray(Postings[]::new);
      Arrays.sort(sorted, Comparator.comparing(postings -> postings.term));
      checkDistinct(sorted.length, i -> sorted[i].term);
      return new SortedTerms(sorted.length, true, postings, frequencies) {
        @Override
        Postings postings(int index) {
          return sorted[index];
        }
      };
    }
    if (!field.equals(ID)) {
      return null;
    }
    BytesRef[] all = idBytes();
    Integer[] order = new Integer[all.length];
    Arrays.setAll(order, i -> i);
    Arrays.sort(order, Comparator.comparing(i -> all[i]));
    checkDistinct(order.length, i -> all[order[i]]);
    return new SortedTerms(order.length, false, order.length, order.length) {
      @Override
      Postings postings(int index) throws IOException {
        Postings postings = new Postings(all[order[index]]);
        postings.add(order[index], 1);
        return postings;
      }
    };
  }

  /** Throws if a term occurs twice: Lucene would write both and find only one. */
  private static void checkDistinct(int size, IntFunction<BytesRef> sorted) {
    for (int i = 1; i < size; i++) {
      if (sorted.apply(i).equals(sorted.apply(i - 1))) {
        String name = sorted.apply(i).utf8ToString();
        throw new IllegalArgumentException("the term or id " + name + " occurs twice");
      }
    }
  }

  /** The terms of a field in byte order, each with its postings. */
  private abstract class SortedTerms extends Terms {
    private final int size;
    private final boolean hasFrequencies;
    private final long documents;
    private final long frequencies;

    SortedTerms(int size, boolean hasFrequencies, long documents, long frequencies) {
      this.size = size;
      this.hasFrequencies = hasFrequencies;
      this.documents = documents;
      this.frequencies = frequencies;
    }

    abstract Postings postings(int index) throws IOException;

    @Override
    public TermsEnum iterator() {
      return new SortedTermsEnum(this);
    }

    @Override
    public long size() {
      return size;
    }

    @Override
    public long getSumTotalTermFreq() {
      return frequencies;
    }

    @Override
    public long getSumDocFreq() {
      return documents;
    }

    @Override
    public int getDocCount() {
      return maxDoc();
    }

    @Override
    public boolean hasFreqs() {
      return hasFrequencies;
    }

    @Override
    public boolean hasOffsets() {
      return false;
    }

    @Override
    public boolean hasPositions() {
      return false;
    }

    @Override
    public boolean hasPayloads() {
      return false;
    }
  }

  /** Iterates from the first term to the last; a merge needs nothing else. */
  private static final class SortedTermsEnum extends BaseTermsEnum {
    private final SortedTerms terms;
    private int index = -1;
    private Postings current;

    SortedTermsEnum(SortedTerms terms) {
      this.terms = terms;
    }

    @Override
    public BytesRef next() throws IOException {
      current = ++index < terms.size ? terms.postings(index) : null;
      return current == null ? null : current.term;
    }

    @Override
    public BytesRef term() {
      return current.term;
    }

    @Override
    public long ord() {
      return index;
    }

    @Override
    public int docFreq() {
      return current.size / 2;
    }

    @Override
    public long totalTermFreq() {
      return current.frequencies;
    }

    @Override
    public PostingsEnum postings(PostingsEnum reuse, int flags) {
      return new PairsEnum(current);
    }

    @Override
    public ImpactsEnum impacts(int flags) {
      throw new UnsupportedOperationException();
    }

    @Override
    public SeekStatus seekCeil(BytesRef text) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void seekExact(long ord) {
      throw new UnsupportedOperationException();
    }
  }

  private static final class PairsEnum extends PostingsEnum {
    private final int[] pairs;
    private final int size;
    private int index = -2;

    PairsEnum(Postings postings) {
      this.pairs = postings.pairs;
      this.size = postings.size;
    }

    @Override
    public int docID() {
      return index < 0 ? -1 : index >= size ? NO_MORE_DOCS : pairs[index];
    }

    @Override
    public int nextDoc() {
      index += 2;
      return docID();
    }

    @Override
    public int advance(int target) throws IOException {
      return slowAdvance(target);
    }

    @Override
    public int freq() {
      return pairs[index + 1];
    }

    @Override
    public long cost() {
      return size / 2;
    }

    @Override
    public int nextPosition() {
      return -1;
    }

    @Override
    public int startOffset() {
      return -1;
    }

    @Override
    public int endOffset() {
      return -1;
    }

    @Override
    public BytesRef getPayload() {
      return null;
    }
  }

  @Override
  public StoredFields storedFields() {
    FieldInfo id = getFieldInfos().fieldInfo(ID);
    return new StoredFields() {
      @Override
      public void document(int document, StoredFieldVisitor visitor) throws IOException {
        if (visitor.needsField(id) == StoredFieldVisitor.Status.YES) {
          visitor.stringField(id, ids.get(document));
        }
      }
    };
  }

  @Override
  public BinaryDocValues getBinaryDocValues(String field) {
    if (!field.equals(ID)) {
      return null;
    }
    BytesRef[] all = idBytes();
    return new BinaryDocValues() {
      private int document = -1;

      @Override
      public BytesRef binaryValue() {
        return all[document];
      }

      @Override
      public boolean advanceExact(int target) {
        document = target;
        return true;
      }

      @Override
      public int docID() {
        return document;
      }

      @Override
      public int nextDoc() {
        return advance(document + 1);
      }

      @Override
      public int advance(int target) {
        document = target < all.length ? target : NO_MORE_DOCS;
        return document;
      }

      @Override
      public long cost() {
        return all.length;
      }
    };
  }

  /** The norm is 1 for every length, as in Anserini's ImpactSimilarity. */
  @Override
  public NumericDocValues getNormValues(String field) {
    if (!field.equals(CONTENTS)) {
      return null;
    }
    return new NumericDocValues() {
      private int document = -1;

      @Override
      public long longValue() {
        return 1;
      }

      @Override
      public boolean advanceExact(int target) {
        document = target;
        return true;
      }

      @Override
      public int docID() {
        return document;
      }

      @Override
      public int nextDoc() {
        return advance(document + 1);
      }

      @Override
      public int advance(int target) {
        document = target < ids.size() ? target : NO_MORE_DOCS;
        return document;
      }

      @Override
      public long cost() {
        return ids.size();
      }
    };
  }

  @Override
  public int numDocs() {
    return ids.size();
  }

  @Override
  public int maxDoc() {
    return ids.size();
  }

  @Override
  public LeafMetaData getMetaData() {
    return new LeafMetaData(createdVersion, Version.LATEST, null, false);
  }

  // Parts that an impact index does not have

  @Override
  public Bits getLiveDocs() {
    return null;
  }

  @Override
  public TermVectors termVectors() {
    return TermVectors.EMPTY;
  }

  @Override
  public NumericDocValues getNumericDocValues(String field) {
    return null;
  }

  @Override
  public SortedDocValues getSortedDocValues(String field) {
    return null;
  }

  @Override
  public SortedNumericDocValues getSortedNumericDocValues(String field) {
    return null;
  }

  @Override
  public SortedSetDocValues getSortedSetDocValues(String field) {
    return null;
  }

  @Override
  public PointValues getPointValues(String field) {
    return null;
  }

  @Override
  public void checkIntegrity() {}

  @Override
  public CacheHelper getCoreCacheHelper() {
    return null;
  }

  @Override
  public CacheHelper getReaderCacheHelper() {
    return null;
  }

  @Override
  protected void doClose() {}
}
