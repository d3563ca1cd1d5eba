package spade;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.anserini.search.similarity.ImpactSimilarity;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.GZIPInputStream;
import org.apache.lucene.analysis.TokenStream;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.analysis.tokenattributes.CharTermAttribute;
import org.apache.lucene.analysis.tokenattributes.TermFrequencyAttribute;
import org.apache.lucene.document.BinaryDocValuesField;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.IndexOptions;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogByteSizeMergePolicy;
import org.apache.lucene.index.Term;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.BytesRef;

/**
 * Vectors to a Lucene index, each impact as the frequency of its term.
 *
 * <p>What ends up in the index is what Anserini's IndexCollection makes of the same files, which
 * repeats every term as often as its impact says: the fields "id" (stored, and as a doc value) and
 * "contents" (documents and frequencies). A file is read by one thread; nothing of it is held.
 */
public final class ImpactIndexer {
  private static final int BUFFER = 1 << 16;

  private final IndexWriter writer;
  private final boolean replace;
  private final ConcurrentLinkedQueue<String> files;
  private final AtomicLong documents = new AtomicLong();
  private volatile Throwable failure;
  private volatile boolean done;

  private ImpactIndexer(IndexWriter writer, List<String> files, boolean replace) {
    this.writer = writer;
    this.files = new ConcurrentLinkedQueue<>(files);
    this.replace = replace;
  }

  /**
   * Begin; {@link #documents} and {@link #done} tell how far it is. With one thread, documents stay
   * in their order.
   *
   * @param create begin a new index; otherwise documents are added, and replace those of their ids
   */
  public static ImpactIndexer start(
      List<String> files, String index, boolean create, int threads, double megabytes, int segments)
      throws IOException {
    IndexWriter writer = writer(index, create, megabytes, threads == 1);
    ImpactIndexer indexer = new ImpactIndexer(writer, new ArrayList<>(files), !create);
    Thread all = new Thread(() -> indexer.run(threads, segments), "impact-indexer");
    all.setDaemon(true);
    all.start();
    return indexer;
  }

  /** Delete documents by their ids; returns how many there were. */
  public static int delete(String index, List<String> ids) throws IOException {
    double megabytes = IndexWriterConfig.DEFAULT_RAM_BUFFER_SIZE_MB;
    try (IndexWriter writer = writer(index, false, megabytes, false)) {
      int before = writer.getDocStats().numDocs;
      writer.deleteDocuments(ids.stream().map(id -> new Term("id", id)).toArray(Term[]::new));
      writer.commit();
      return before - writer.getDocStats().numDocs;
    }
  }

  private static IndexWriter writer(
      String index, boolean create, double megabytes, boolean inOrder) throws IOException {
    IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer()); // never asked
    config.setSimilarity(new ImpactSimilarity());
    config.setOpenMode(
        create ? IndexWriterConfig.OpenMode.CREATE : IndexWriterConfig.OpenMode.APPEND);
    config.setRAMBufferSizeMB(megabytes);
    config.setUseCompoundFile(false);
    if (inOrder) {
      config.setMergePolicy(new LogByteSizeMergePolicy());
    }
    return new IndexWriter(FSDirectory.open(Path.of(index)), config);
  }

  public long documents() {
    return documents.get();
  }

  public boolean done() {
    return done;
  }

  /** Give up; what was not committed is gone. */
  public void stop() throws InterruptedException {
    failure = new IOException("stopped");
    while (!done) {
      Thread.sleep(10);
    }
  }

  /** What went wrong, or null. */
  public String failure() {
    return failure == null ? null : String.valueOf(failure.getMessage());
  }

  private void run(int threads, int segments) {
    List<Thread> workers = new ArrayList<>();
    for (int number = 0; number < threads; number++) {
      Thread worker = new Thread(this::work, "impact-indexer-" + number);
      worker.setDaemon(true);
      worker.start();
      workers.add(worker);
    }
    try {
      for (Thread worker : workers) {
        worker.join();
      }
      if (failure == null && segments > 0) {
        writer.forceMerge(segments);
      }
      if (failure == null) {
        writer.commit();
      }
    } catch (Throwable error) {
      failure = error;
    } finally {
      close();
      done = true;
    }
  }

  private void close() {
    try {
      if (failure == null) {
        writer.close();
      } else {
        writer.rollback();
      }
      writer.getDirectory().close();
    } catch (Throwable error) {
      failure = failure == null ? error : failure;
    }
  }

  private void work() {
    Vector vector = new Vector();
    try {
      for (String file = files.poll(); file != null && failure == null; file = files.poll()) {
        read(file, vector);
      }
    } catch (Throwable error) {
      failure = error;
    }
  }

  private void read(String file, Vector vector) throws IOException {
    try (InputStream bytes = open(file);
        JsonParser json = Vector.JSON.createParser(bytes)) {
      try {
        while (failure == null && json.nextToken() != null) {
          vector.read(json);
          Term id = new Term("id", vector.name);
          if (vector.size > 0 && replace) {
            writer.updateDocument(id, vector.document);
          } else if (vector.size > 0) {
            writer.addDocument(vector.document);
          } else if (replace) {
            writer.deleteDocuments(id);
          }
          documents.incrementAndGet();
        }
      } catch (IOException | RuntimeException error) {
        int line = json.currentLocation().getLineNr();
        throw new IOException(file + ":" + line + ": " + error.getMessage(), error);
      }
    }
  }

  private static InputStream open(String file) throws IOException {
    InputStream bytes = Files.newInputStream(Path.of(file));
    return file.endsWith(".gz") ? new GZIPInputStream(bytes, BUFFER) : bytes;
  }

  /** One document that is filled again and again, and the stream of its terms. */
  private static final class Vector extends TokenStream {
    static final JsonFactory JSON =
        JsonFactory.builder().disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build();
    private static final FieldType FREQUENCIES = new FieldType();

    static {
      FREQUENCIES.setTokenized(true);
      FREQUENCIES.setIndexOptions(IndexOptions.DOCS_AND_FREQS);
      FREQUENCIES.freeze();
    }

    final Document document = new Document();
    String name;
    int size;
    private String[] terms = new String[256];
    private int[] impacts = new int[256];
    private int next;
    private final StringField id = new StringField("id", "", Field.Store.YES);
    private final BinaryDocValuesField order = new BinaryDocValuesField("id", new BytesRef());
    private final CharTermAttribute term = addAttribute(CharTermAttribute.class);
    private final TermFrequencyAttribute frequency = addAttribute(TermFrequencyAttribute.class);

    Vector() {
      document.add(id);
      document.add(order);
      document.add(new Field("contents", this, FREQUENCIES));
    }

    /** The object that begins at the current token. */
    void read(JsonParser json) throws IOException {
      name = null;
      size = 0;
      boolean found = false;
      expect(json.currentToken() == JsonToken.START_OBJECT, "an object was expected");
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        String key = json.currentName();
        JsonToken value = json.nextToken();
        if (key.equals("id")) {
          name = json.getText();
        } else if (key.equals("vector")) {
          expect(value == JsonToken.START_OBJECT, "`vector` is no object");
          found = true;
          readImpacts(json);
        } else {
          json.skipChildren();
        }
      }
      expect(name != null && found, "a document needs `id` and `vector`");
      id.setStringValue(name);
      order.setBytesValue(new BytesRef(name));
    }

    private void readImpacts(JsonParser json) throws IOException {
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        if (size == terms.length) {
          terms = Arrays.copyOf(terms, 2 * size);
          impacts = Arrays.copyOf(impacts, 2 * size);
        }
        terms[size] = json.currentName();
        expect(json.nextToken() == JsonToken.VALUE_NUMBER_INT, "an impact is no whole number");
        impacts[size] = json.getIntValue();
        expect(impacts[size] > 0, "an impact is below 1");
        size++;
      }
    }

    private static void expect(boolean holds, String otherwise) throws IOException {
      if (!holds) {
        throw new IOException(otherwise);
      }
    }

    @Override
    public void reset() {
      next = 0;
    }

    @Override
    public boolean incrementToken() {
      if (next == size) {
        return false;
      }
      clearAttributes();
      term.append(terms[next]);
      frequency.setTermFrequency(impacts[next]);
      next++;
      return true;
    }
  }
}
