package spade;

import java.util.Arrays;

/**
 * Static pruning: removes the terms of a document that contribute least to its scores.
 *
 * <p>The same rule in Python, in the same arithmetic, is in spade_pyserini/index/pruning.py.
 */
public final class Pruning {
  private final double keep;
  private final double ratio;

  /**
   * @param keep the largest impacts are kept until they have this share of the document's sum of
   *     impacts; 1 keeps all. Terms of the same impact are kept or removed together.
   * @param ratio impacts below this share of the document's largest one are removed; 0 for none
   */
  public Pruning(double keep, double ratio) {
    this.keep = keep;
    this.ratio = ratio;
  }

  /** Removes terms of a document. At least one term is kept. */
  void apply(Vector vector) {
    if (vector.size == 0 || (keep >= 1 && ratio <= 0)) {
      return;
    }
    int[] sorted = Arrays.copyOf(vector.impacts, vector.size);
    Arrays.sort(sorted);
    double least = Math.max(ratio * sorted[sorted.length - 1], smallestKept(sorted, vector.sum()));
    vector.removeBelow(least);
  }

  /** Returns the impact with which the largest impacts reach their share of the sum. */
  private int smallestKept(int[] ascending, long sum) {
    double wanted = keep * sum;
    long kept = 0;
    int i = ascending.length;
    while (i > 0 && (i == ascending.length || kept < wanted)) {
      kept += ascending[--i];
    }
    return ascending[i];
  }
}
