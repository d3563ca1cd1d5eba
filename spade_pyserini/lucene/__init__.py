"""Java and Lucene: the Java runtime, the JVM of this process, and this package's own jar."""
