package spade;

import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;

/** Reads gzip and throws if other bytes follow the compressed data, which Java would ignore. */
final class CompleteGzip extends GZIPInputStream {
  private static final int TRAILER = 8; // bytes

  CompleteGzip(InputStream bytes, int buffer) throws IOException {
    super(bytes, buffer);
  }

  @Override
  public int read(byte[] bytes, int start, int length) throws IOException {
    int number = super.read(bytes, start, length);
    if (number < 0 && (inf.getRemaining() > TRAILER || in.available() > 0)) {
      throw new IOException("other bytes follow the compressed data");
    }
    return number;
  }
}
