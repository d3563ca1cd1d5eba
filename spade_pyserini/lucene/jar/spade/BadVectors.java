package spade;

import java.io.IOException;

/** A file of another tool has something that is not, or may not be, a valid vector. */
final class BadVectors extends IOException {
  private static final long serialVersionUID = 1;

  final String file; // null if an id occurs twice
  final int line; // lines before it are valid
  final String id; // null unless it occurs twice

  BadVectors(String file, int line, Throwable cause) {
    super(file + ":" + line + ": " + VectorFile.messageOf(cause), cause);
    this.file = file;
    this.line = line;
    this.id = null;
  }

  BadVectors(String id) {
    super("the id " + id + " occurs twice");
    this.file = null;
    this.line = 0;
    this.id = id;
  }
}
