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
import org.apache.lucene.index.SegmentInfos;
import org.apache.lucene.index.SlowCodecReaderWrapper;
import org.apache.lucene.index.Term;
import org.apache.lucene.index.TieredMergePolicy;
import org.apache.lucene.store.FSDirectory;
import org.apache.lucene.util.Version;

/**
 * Writes vectors to a Lucene index, each impact as the frequency of its term.
 *
 * <p>The index has the same contents as an index of Anserini's IndexCollection, which repeats every
 * term as often as its impact: the fields "id" (stored, and as a doc value) and "contents"
 * (documents and frequencies). Each file is read by one thread, which inverts the vectors in memory
 * and writes a segment whenever its share of the memory is full.
 */
public final class ImpactIndexer {
  private static final int BUFFER = 1 << 16;

  private final IndexWriter writer;
  private final int createdVersion; // major version of the Lucene that created the index
  private final boolean replace;
  private final long limit; // bytes of memory for the segment of a thread
  private final ConcurrentLinkedQueue<String> files;
  private final AtomicLong documents = new AtomicLong();
  private volatile Throwable failure;
  private volatile boolean done;

  private ImpactIndexer(IndexWriter writer, List<String> files, boolean replace, long limit)
      throws IOException {
    this.writer = writer;
    this.createdVersion =
        replace
            ? SegmentInfos.readLatestCommit(writer.getDirectory()).getIndexCreatedVersionMajor()
            : Version.LATEST.major;
    this.files = new ConcurrentLinkedQueue<>(files);
    this.replace = replace;
    this.limit = limit;
  }

  /**
   * Starts indexing in the background and returns at once; {@link #documents} and {@link #done}
   * report the progress. With one thread, documents keep their order.
   *
   * @param create start a new index; otherwise documents are added to an existing one, where they
   *     replace documents with the same ids
   * @param megabytes memory of all threads together
   * @param segments merge to this number of segments at the end; 0 for no such merge
   */
  public static ImpactIndexer start(
      List<String> files, String index, boolean create, int threads, double megabytes, int segments)
      throws IOException {
    IndexWriter writer = writer(index, create, threads);
    double memory = Math.min(megabytes * 1e6, Runtime.getRuntime().maxMemory() / 4.0);
    long limit = (long) (memory / threads);
    ImpactIndexer indexer = new ImpactIndexer(writer, new ArrayList<>(files), !create, limit);
    Thread main = new Thread(() -> indexer.run(threads, segments), "impact-indexer");
    main.setDaemon(true);
    main.start();
    return indexer;
  }

  /** Deletes documents by their ids; returns how many the index had. */
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
    IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer()); // not used
    config.setSimilarity(new ImpactSimilarity());
    config.setOpenMode(
        create ? IndexWriterConfig.OpenMode.CREATE : IndexWriterConfig.OpenMode.APPEND);
    ConcurrentMergeScheduler scheduler = new ConcurrentMergeScheduler(); // for addIndexes, too
    scheduler.setMaxMergesAndThreads(threads + 2, threads);
    scheduler.disableAutoIOThrottle();
    config.setMergeScheduler(scheduler);
    MergePolicy merges = // LogByteSizeMergePolicy keeps the order of documents
        threads == 1 ? new LogByteSizeMergePolicy() : new TieredMergePolicy();
    merges.setNoCFSRatio(0);
    config.setMergePolicy(merges);
    return new IndexWriter(FSDirectory.open(Path.of(index)), config);
  }

  /** Returns the number of documents read so far. */
  public long documents() {
    return documents.get();
  }

  /** Returns whether indexing has ended, with or without a failure. */
  public boolean done() {
    return done;
  }

  /** Stops indexing, discards what was not committed, and waits until that is done. */
  public void stop() throws InterruptedException {
    fail(new IOException("stopped"));
    while (!done) {
      Thread.sleep(10);
    }
  }

  /** Returns the message of the first failure, or null. */
  public String failure() {
    return failure == null ? null : messageOf(failure);
  }

  private synchronized void fail(Throwable error) {
    failure = failure == null ? error : failure;
  }

  private static String messageOf(Throwable error) {
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
    ImpactSegment segment = new ImpactSegment(createdVersion);
    try {
      for (String file = files.poll(); file != null && failure == null; file = files.poll()) {
        segment = read(file, vector, segment);
      }
      if (failure == null) {
        write(segment);
      }
    } catch (Throwable error) {
      fail(error);
    }
  }

  /** Adds the documents of a file to a segment; returns it, or a new one if it was written. */
  private ImpactSegment read(String file, Vector vector, ImpactSegment first) throws IOException {
    ImpactSegment segment = first;
    try (InputStream bytes = open(file);
        JsonParser json = Vector.JSON.createParser(bytes)) {
      while (failure == null && next(file, json, vector, segment)) {
        if (vector.size == 0 && replace) {
          writer.deleteDocuments(new Term("id", vector.id));
        }
        documents.incrementAndGet();
        if (segment.bytes() >= limit) {
          write(segment);
          segment = new ImpactSegment(createdVersion);
        }
      }
    }
    return segment;
  }

  /** Adds the next document of a file to a segment; returns false at the end of the file. */
  private static boolean next(String file, JsonParser json, Vector vector, ImpactSegment segment)
      throws IOException {
    try {
      if (json.nextToken() == null) {
        return false;
      }
      vector.read(json);
      if (vector.size > 0) {
        segment.add(vector.id, vector.terms, vector.impacts, vector.size);
      }
      return true;
    } catch (IOException | RuntimeException error) {
      int line = json.currentLocation().getLineNr();
      throw new IOException(file + ":" + line + ": " + messageOf(error), error);
    }
  }

  private void write(ImpactSegment segment) throws IOException {
    if (segment.maxDoc() == 0) {
      return;
    }
    if (replace) {
      Stream<Term> ids = segment.ids().stream().map(id -> new Term("id", id));
      writer.deleteDocuments(ids.toArray(Term[]::new));
    }
    writer.addIndexes(SlowCodecReaderWrapper.wrap(segment));
  }

  private static InputStream open(String file) throws IOException {
    InputStream bytes = Files.newInputStream(Path.of(file));
    try {
      return file.endsWith(".gz") ? new GZIPInputStream(bytes, BUFFER) : bytes;
    } catch (IOException error) {
      bytes.close();
      throw new IOException(file + ": " + messageOf(error), error);
    }
  }

  /** A document; the same object is reused for all documents of a thread. */
  private static final class Vector {
    static final JsonFactory JSON =
        JsonFactory.builder().disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build();

    String id;
    int size;
    String[] terms = new String[256];
    int[] impacts = new int[256];

    /** Reads the JSON object that starts at the current token. */
    void read(JsonParser json) throws IOException {
      id = null;
      size = 0;
      boolean hasVector = false;
      expect(json.currentToken() == JsonToken.START_OBJECT, "an object was expected");
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        String key = json.currentName();
        JsonToken value = json.nextToken();
        if (key.equals("id")) {
          id = json.getText();
        } else if (key.equals("vector")) {
          expect(value == JsonToken.START_OBJECT, "`vector` is not an object");
          hasVector = true;
          readImpacts(json);
        } else {
          json.skipChildren();
        }
      }
      expect(id != null && hasVector, "a document needs `id` and `vector`");
    }

    private void readImpacts(JsonParser json) throws IOException {
      while (json.nextToken() == JsonToken.FIELD_NAME) {
        if (size == terms.length) {
          terms = Arrays.copyOf(terms, 2 * size);
          impacts = Arrays.copyOf(impacts, 2 * size);
        }
        terms[size] = json.currentName();
        expect(json.nextToken() == JsonToken.VALUE_NUMBER_INT, "an impact is not an integer");
        impacts[size] = json.getIntValue();
        expect(impacts[size] > 0, "an impact is below 1");
        size++;
      }
    }

    private static void expect(boolean condition, String message) throws IOException {
      if (!condition) {
        throw new IOException(message);
      }
    }
  }
}
