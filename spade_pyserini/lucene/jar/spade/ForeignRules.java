package spade;

import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * What vectors that another tool made must satisfy; see {@link ForeignChecks}.
 *
 * <p>The rules are those of spade_pyserini/index/foreign_checks.py, or stricter. Java only finds
 * that something is wrong in a file. Python then reads the line again: it decides, and its message
 * says what to do.
 */
public final class ForeignRules {
  private final Set<String> vocabulary; // null if every term is allowed

  /**
   * @param vocabulary the terms that are allowed, one per line; null for all
   */
  public ForeignRules(String vocabulary) {
    this.vocabulary =
        vocabulary == null ? null : new HashSet<>(List.of(vocabulary.split("\n")));
  }

  boolean allows(String term) {
    return vocabulary == null || vocabulary.contains(term);
  }
}
