package spade;

import static spade.Vector.expect;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonLocation;
import com.fasterxml.jackson.core.JsonParser;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.zip.GZIPInputStream;

/** A file of vectors that is being read: a JSON object per line, plain or with gzip. */
final class VectorFile implements AutoCloseable {
  private static final int BUFFER = 1 << 16;
  private static final long LONGEST_LINE = 1 << 28; // bytes
  private static final JsonFactory JSON =
      JsonFactory.builder().disable(JsonFactory.Feature.INTERN_FIELD_NAMES).build();

  private final String path;
  private final ForeignChecks checks; // null for files that need no checks
  private final InputStream bytes;
  private final JsonParser json;
  private int line; // of the current document
  private long end; // of the current document, in bytes

  VectorFile(String path, ForeignChecks checks) throws IOException {
    this.path = path;
    this.checks = checks;
    bytes = open(path, checks != null);
    json = parser(path, bytes, checks != null);
  }

  private static InputStream open(String path, boolean foreign) throws IOException {
    InputStream bytes = Files.newInputStream(Path.of(path));
    if (!path.endsWith(".gz")) {
      return bytes;
    }
    try {
      return foreign ? new CompleteGzip(bytes, BUFFER) : new GZIPInputStream(bytes, BUFFER);
    } catch (IOException error) {
      bytes.close();
      throw foreign
          ? new BadVectors(path, 1, error)
          : new IOException(path + ": " + messageOf(error), error);
    }
  }

  /** Begins to read, which can fail: the parser looks at the first bytes. */
  private static JsonParser parser(String path, InputStream bytes, boolean foreign)
      throws IOException {
    try {
      return JSON.createParser(foreign ? new Utf8Stream(bytes) : bytes);
    } catch (IOException error) {
      bytes.close();
      throw foreign ? new BadVectors(path, 1, error) : error;
    }
  }

  /** Reads the next document into {@code vector}; returns false at the end of the file. */
  boolean next(Vector vector) throws IOException {
    try {
      if (checks != null) {
        return nextForeign(vector);
      }
      if (json.nextToken() == null) {
        return false;
      }
      vector.read(json, null);
      return true;
    } catch (IOException | RuntimeException error) {
      throw at(error);
    }
  }

  /** Reads a document, which must be on a line of its own. */
  private boolean nextForeign(Vector vector) throws IOException {
    if (json.nextToken() == null) {
      JsonLocation last = json.currentLocation();
      boolean newLine = last.getLineNr() == line + 1 && last.getColumnNr() == 1;
      expect(newLine || last.getLineNr() == line, "an empty line");
      return false;
    }
    expect(json.currentTokenLocation().getLineNr() == ++line, "not one document per line");
    checks.begin();
    vector.read(json, checks);
    JsonLocation location = json.currentLocation();
    expect(location.getLineNr() == line, "a document on several lines");
    expect(location.getByteOffset() - end <= LONGEST_LINE, "the line is too long");
    end = location.getByteOffset();
    return true;
  }

  /** Returns an exception that names the file and the line of the current document. */
  IOException at(Exception error) {
    if (checks != null) {
      return new BadVectors(path, Math.max(1, line), error);
    }
    int current = json.currentLocation().getLineNr();
    return new IOException(path + ":" + current + ": " + messageOf(error), error);
  }

  static String messageOf(Throwable error) {
    return error.getMessage() == null ? error.toString() : error.getMessage();
  }

  @Override
  public void close() throws IOException {
    json.close();
    bytes.close();
  }
}
