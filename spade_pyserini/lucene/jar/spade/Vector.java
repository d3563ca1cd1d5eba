package spade;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.util.Arrays;

/** A document: its id and the impacts of its terms. One object serves all documents of a thread. */
final class Vector {
  String id;
  int size;
  String[] terms = new String[256];
  int[] impacts = new int[256];

  /** Reads the JSON object that starts at the current token; {@code checks} can be null. */
  void read(JsonParser json, ForeignChecks checks) throws IOException {
    id = null;
    size = 0;
    boolean hasVector = false;
    expect(json.currentToken() == JsonToken.START_OBJECT, "an object was expected");
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      String key = json.currentName();
      JsonToken value = json.nextToken();
      if (checks != null) {
        checks.key(key);
      }
      if (key.equals("id")) {
        id = json.getText();
        if (checks != null) {
          checks.id(value, id);
        }
      } else if (key.equals("vector")) {
        expect(value == JsonToken.START_OBJECT, "`vector` is not an object");
        hasVector = true;
        readImpacts(json, checks);
      } else if (checks != null) {
        checks.skip(json);
      } else {
        json.skipChildren();
      }
    }
    expect(id != null && hasVector, "a document needs `id` and `vector`");
  }

  private void readImpacts(JsonParser json, ForeignChecks checks) throws IOException {
    while (json.nextToken() == JsonToken.FIELD_NAME) {
      if (size == terms.length) {
        terms = Arrays.copyOf(terms, 2 * size);
        impacts = Arrays.copyOf(impacts, 2 * size);
      }
      terms[size] = json.currentName();
      expect(json.nextToken() == JsonToken.VALUE_NUMBER_INT, "an impact is not an integer");
      impacts[size] = json.getIntValue();
      expect(impacts[size] > 0, "an impact is below 1");
      if (checks != null) {
        checks.term(terms[size], impacts[size]);
      }
      size++;
    }
  }

  /** Returns the sum of the impacts. */
  long sum() {
    long sum = 0;
    for (int i = 0; i < size; i++) {
      sum += impacts[i];
    }
    return sum;
  }

  /** Removes the terms whose impact is below {@code least}; the others keep their order. */
  void removeBelow(double least) {
    int kept = 0;
    for (int i = 0; i < size; i++) {
      if (impacts[i] >= least) {
        terms[kept] = terms[i];
        impacts[kept++] = impacts[i];
      }
    }
    size = kept;
  }

  static void expect(boolean condition, String message) throws IOException {
    if (!condition) {
      throw new IOException(message);
    }
  }
}
