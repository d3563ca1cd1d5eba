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
import java.util.stream.Stream;
import java.util.zip.GZIPInputStream;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.index.ConcurrentMergeScheduler;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LogByteSizeMergePolicy;
import org.apache.lucene.index.MergePolicy;
import org.apache.lucene.index.SlowCodecReaderWrapper;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.TieredMergePolicy;
import org.apache.lucene.store.FSDirectory;

/**
 * Vectors to a Lucene index, each impact as the frequency of its term.
 *
 * <p>What ends up in the index is what Anserini's IndexCollection makes of the same files, which
 * repeats every term as often as its impact says: the fields "id" (stored, and as a doc value) and
 * "contents" (documents and frequencies). A file is read by one thread, which inverts what it reads,
 * and writes a segment whenever its part of the memory is full.
 */
public final class ImpactIndexer {
  private static final int BUFFER = 1 << 16;

  private final IndexWriter writer;
  private final boolean replace;
  private final long limit; // bytes of memory for a segment
  private final ConcurrentLinkedQueue<String> files;
  private final AtomicLong documents = new AtomicLong();
  private volatile Throwable failure;
  private volatile boolean done;

  private ImpactIndexer(IndexWriter writer, List<String> files, boolean replace, long limit) {
    this.writer = writer;
    this.files = new ConcurrentLinkedQueue<>(files);
    this.replace = replace;
    this.limit = limit;
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
    IndexWriter writer = writer(index, create, threads);
    double memory = Math.min(megabytes * 1e6, Runtime.getRuntime().maxMemory() / 4.0);
    long limit = (long) (memory / threads);
    ImpactIndexer indexer = new ImpactIndexer(writer, new ArrayList<>(files), !create, limit);
    Thread all = new Thread(() -> indexer.run(threads, segments), "impact-indexer");
    all.setDaemon(true);
    all.start();
    return indexer;
  }

  /** Delete documents by their ids; returns how many there were. */
  public static int delete(String index, List<String> ids) throws IOException {
    try (IndexWriter writer = writer(index, false, 1)) {
      int before = writer.getDocStats().numDocs;
      writer.deleteDocuments(ids.stream().map(id -> new Term("id", id)).toArray(Term[]::new));
      writer.commit();
      return before - writer.getDocStats().numDocs;
    }
  }

  private static IndexWriter writer(String index, boolean create, int threads)
      throws IOException {
    IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer()); // never asked
    config.setSimilarity(new ImpactSimilarity());
    config.setOpenMode(
        create ? IndexWriterConfig.OpenMode.CREATE : IndexWriterConfig.OpenMode.APPEND);
    ConcurrentMergeScheduler scheduler = new ConcurrentMergeScheduler(); // writes segments, too
    scheduler.setMaxMergesAndThreads(threads + 2, threads);
    scheduler.disableAutoIOThrottle();
    config.setMergeScheduler(scheduler);
    MergePolicy merges = // the first keeps documents in their order
        threads == 1 ? new LogByteSizeMergePolicy() : new TieredMergePolicy();
    merges.setNoCFSRatio(0);
    config.setMergePolicy(merges);
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
    fail(new IOException("stopped"));
    while (!done) {
      Thread.sleep(10);
    }
  }

  /** What went wrong first, or null. */
  public String failure() {
    return failure == null ? null : told(failure);
  }

  private synchronized void fail(Throwable error) {
    failure = failure == null ? error : failure;
  }

  private static String told(Throwable error) {
    return error.getMessage() == null ? error.toString() : error.getMessage();
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
      fail(error);
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
      fail(error);
    }
  }

  private void work() {
    Vector vector = new Vector();
    ImpactSegment batch = new ImpactSegment();
    try {
      for (String file = files.poll(); file != null && failure == null; file = files.poll()) {
        batch = read(file, vector, batch);
      }
      if (failure == null) {
        write(batch);
      }
    } catch (Throwable error) {
      fail(error);
    }
  }

  /** Add the documents of a file to a batch; returns it, or the one that was begun since. */
  private ImpactSegment read(String file, Vector vector, ImpactSegment begun) throws IOException {
    ImpactSegment batch = begun;
    try (InputStream bytes = open(file);
        JsonParser json = Vector.JSON.createParser(bytes)) {
      while (failure == null && next(file, json, vector, batch)) {
        if (vector.size == 0 && replace) {
          writer.deleteDocuments(new Term("id", vector.name));
        }
        documents.incrementAndGet();
        if (batch.bytes() >= limit) {
          write(batch);
          batch = new ImpactSegment();
        }
      }
    }
    return batch;
  }

  /** Add the next document of a file to a batch; false after the last one. */
  private static boolean next(String file, JsonParser json, Vector vector, ImpactSegment batch)
      throws IOException {
    try {
      if (json.nextToken() == null) {
        return false;
      }
      vector.read(json);
      if (vector.size > 0) {
        batch.add(vector.name, vector.terms, vector.impacts, vector.size);
      }
      return true;
    } catch (IOException | RuntimeException error) {
      int line = json.currentLocation().getLineNr();
      throw new IOException(file + ":" + line + ": " + told(error), error);
    }
  }

  private void write(ImpactSegment batch) throws IOException {
    if (batch.maxDoc() == 0) {
      return;
    }
    if (replace) {
      Stream<Term> ids = batch.ids().stream().map(id -> new Term("id", id));
      writer.deleteDocuments(ids.toArray(Term[]::new));
    }
    writer.addIndexes(SlowCodecReaderWrapper.wrap(batch));
  }

  private static InputStream open(String file) throws IOException {
    InputStream bytes = Files.newInputStream(Path.of(file));
    try {
      return file.endsWith(".gz") ? new GZIPInputStream(bytes, BUFFER) : bytes;
    } catch (IOException error) {
      bytes.close();
      throw new IOException(file + ": " + told(error), error);
    }
  }

  /** One document that is filled again and again. */
  private static final class Vector {
    static final JsonFactory JSON =
        JsonFactory.builder().disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build();

    String name;
    int size;
    String[] terms = new String[256];
    int[] impacts = new int[256];

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
  }
}
