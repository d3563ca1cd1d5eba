package spade;

import static spade.Vector.expect;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/** Checks the vectors that one thread reads against {@link ForeignRules}. */
final class ForeignChecks {
  private static final int LARGEST_IMPACT = 65_535;
  private static final int LONGEST_ID = 1000; // characters
  private static final int LONGEST_TERM = 255;
  private static final int DEEPEST = 100; // nested objects and arrays
  private static final int MOST_KNOWN = 1 << 17; // terms

  private final ForeignRules rules;
  // The terms that were checked, each with the number of the last document that has it.
  private final Map<String, long[]> known = new HashMap<>();
  private final Set<String> keys = new HashSet<>();
  private long document;

  ForeignChecks(ForeignRules rules) {
    this.rules = rules;
  }

  /** Begins a document. */
  void begin() {
    document++;
    keys.clear();
    if (known.size() > MOST_KNOWN) {
      known.clear();
    }
  }

  /** Checks a key of the document's object. */
  void key(String key) throws IOException {
    expect(keys.add(key), "a key occurs twice");
  }

  void id(JsonToken token, String id) throws IOException {
    expect(token == JsonToken.VALUE_STRING, "the id is not a string");
    expect(!id.isEmpty() && id.length() <= LONGEST_ID, "the id is empty or too long");
    expect(id.codePoints().allMatch(ForeignChecks::isPrintable), "the id is not printable");
  }

  void term(String term, int impact) throws IOException {
    expect(impact <= LARGEST_IMPACT, "an impact is too large");
    long[] last = known.get(term);
    if (last == null) {
      checkNew(term);
      last = new long[1];
      known.put(term, last);
    }
    expect(last[0] != document, "a term occurs twice");
    last[0] = document;
  }

  private void checkNew(String term) throws IOException {
    expect(!term.isEmpty() && term.length() <= LONGEST_TERM, "a term is empty or too long");
    expect(term.codePoints().noneMatch(ForeignChecks::splits), "a term cannot be indexed");
    expect(rules.allows(term), "a term is not in the vocabulary");
  }

  /** Skips a value at the current token; keys must not occur twice in any object. */
  void skip(JsonParser json) throws IOException {
    skip(json, 0);
  }

  private static void skip(JsonParser json, int depth) throws IOException {
    if (json.currentToken() == null || !json.currentToken().isStructStart()) {
      return;
    }
    expect(depth < DEEPEST, "nested too deeply");
    Set<String> names = new HashSet<>();
    while (!json.nextToken().isStructEnd()) {
      if (json.currentToken() == JsonToken.FIELD_NAME) {
        expect(names.add(json.currentName()), "a key occurs twice");
      } else {
        skip(json, depth + 1);
      }
    }
  }

  /** Returns whether Python's str.split splits at a character, or it is half of a pair. */
  private static boolean splits(int character) {
    if (character > ' ' && character < 0x7F) {
      return false;
    }
    return (character >= 0x09 && character <= 0x0D)
        || (character >= 0x1C && character <= 0x20)
        || character == 0x85
        || Character.getType(character) == Character.SURROGATE
        || isSeparator(character);
  }

  /** Returns whether Python's str.isprintable is true for a character that is not a space. */
  private static boolean isPrintable(int character) {
    if (character > ' ' && character < 0x7F) {
      return true;
    }
    return switch (Character.getType(character)) {
      case Character.CONTROL,
          Character.FORMAT,
          Character.SURROGATE,
          Character.PRIVATE_USE,
          Character.UNASSIGNED ->
          false;
      default -> !isSeparator(character);
    };
  }

  private static boolean isSeparator(int character) {
    return switch (Character.getType(character)) {
      case Character.SPACE_SEPARATOR, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR ->
          true;
      default -> false;
    };
  }
}
