package spade;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * Passes bytes on and throws if they are not UTF-8, or contain a zero. The JSON parser would accept
 * overlong forms and surrogates, and files in UTF-16.
 */
final class Utf8Stream extends FilterInputStream {
  private int missing; // continuation bytes of the current character
  private int lowest = 0x80; // limits of the next continuation byte
  private int highest = 0xBF;

  Utf8Stream(InputStream bytes) {
    super(bytes);
  }

  @Override
  public int read() throws IOException {
    byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xFF;
  }

  @Override
  public int read(byte[] bytes, int start, int length) throws IOException {
    int number = super.read(bytes, start, length);
    if (number < 0) {
      require(missing == 0);
      return number;
    }
    for (int i = start; i < start + number; i++) {
      if (bytes[i] <= 0 || missing > 0) {
        check(bytes[i] & 0xFF);
      }
    }
    return number;
  }

  /** Checks a byte that is not a character by itself. */
  private void check(int value) throws IOException {
    if (missing > 0) {
      require(value >= lowest && value <= highest);
      lowest = 0x80;
      highest = 0xBF;
      missing--;
      return;
    }
    require(value >= 0xC2 && value <= 0xF4);
    missing = value < 0xE0 ? 1 : value < 0xF0 ? 2 : 3;
    lowest = value == 0xE0 ? 0xA0 : value == 0xF0 ? 0x90 : 0x80;
    highest = value == 0xED ? 0x9F : value == 0xF4 ? 0x8F : 0xBF;
  }

  private static void require(boolean valid) throws IOException {
    if (!valid) {
      throw new IOException("the bytes are not UTF-8");
    }
  }
}
