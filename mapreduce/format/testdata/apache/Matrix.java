// Reads and writes Parquet files with Apache's libraries, of rows that matrix_test.go
// makes too.
//
//   java -cp CLASSES:JARS Matrix FOLDER NAME...
//
// reads each go-CODEC-VERSION-ROWS-KIND.parquet of the folder but those of brotli, for
// which Apache has no codec in Java, and says how the first row that differs does; and
// writes the files of these names, java-CODEC-VERSION-ROWS-KIND.parquet, where the codec
// hadoop is Hadoop's framed LZ4. It ends with 1 when something differed.

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.avro.AvroParquetReader;
import org.apache.parquet.avro.AvroParquetWriter;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.io.LocalOutputFile;

public class Matrix {
  private static final Map<String, CompressionCodecName> CODECS = Map.of("none", CompressionCodecName.UNCOMPRESSED,
      "snappy", CompressionCodecName.SNAPPY, "gzip", CompressionCodecName.GZIP, "zstd", CompressionCodecName.ZSTD,
      "lz4", CompressionCodecName.LZ4_RAW, "hadoop", CompressionCodecName.LZ4);
  private static final Schema MARK = SchemaBuilder.fixed("mark").size(4);
  private static final Schema ROW = SchemaBuilder.record("row").fields()
      .requiredLong("id").requiredLong("id_dict").requiredLong("id_delta")
      .requiredInt("count").requiredInt("count_delta")
      .requiredFloat("share").requiredFloat("share_split")
      .requiredDouble("height_dict").requiredDouble("height_split")
      .requiredBoolean("flag")
      .requiredString("name").requiredString("name_dict").requiredString("name_delta").requiredString("name_length")
      .name("mark").type(MARK).noDefault().name("mark_delta").type(MARK).noDefault()
      .optionalString("note").optionalString("note_dict")
      .name("rings").type().array().items().intType().noDefault()
      .endRecord();

  public static void main(String[] args) throws Exception {
    File folder = new File(args[0]);
    List<Callable<String>> work = new ArrayList<>();
    for (File f : folder.listFiles()) {
      if (f.getName().startsWith("go-") && !f.getName().startsWith("go-brotli")) {
        work.add(() -> check(f));
      }
    }
    for (int i = 1; i < args.length; i++) {
      File f = new File(folder, args[i]);
      work.add(() -> write(f));
    }
    ExecutorService threads = Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
    int wrong = 0;
    for (Future<String> done : threads.invokeAll(work)) {
      if (done.get() != null) {
        System.out.println(done.get());
        wrong = 1;
      }
    }
    System.exit(wrong);
  }

  /** Splitmix64, whose bits do not pack, or a number that repeats fifty times. */
  private static long value(int i, boolean packs) {
    if (packs) {
      return i / 50;
    }
    long z = (i + 1) * 0x9E3779B97F4A7C15L;
    z = (z ^ z >>> 30) * 0xBF58476D1CE4E5B9L;
    z = (z ^ z >>> 27) * 0x94D049BB133111EBL;
    return z ^ z >>> 31;
  }

  private static GenericRecord row(int i, boolean packs) {
    long v = value(i, packs);
    String name = "name " + Long.toHexString(v);
    GenericData.Fixed mark = new GenericData.Fixed(MARK, ByteBuffer.allocate(4).order(ByteOrder.LITTLE_ENDIAN).putInt((int) v).array());
    List<Integer> rings = new ArrayList<>();
    for (int j = 0; j < i % 4; j++) {
      rings.add((int) (v & 0xFFFF) + j);
    }
    float share = (short) v / 8f;
    double height = (int) v / 16.0;
    Object note = i % 3 == 0 ? null : name;
    Object[] values = {v, v, v, (int) v, (int) v, share, share, height, height, (v & 1) == 1, name, name, name, name, mark, mark, note, note, rings};
    GenericRecord row = new GenericData.Record(ROW);
    for (int f = 0; f < values.length; f++) {
      row.put(f, values[f]);
    }
    return row;
  }

  private static String check(File file) throws IOException {
    String[] parts = file.getName().substring(0, file.getName().indexOf('.')).split("-");
    boolean packs = parts[4].equals("well");
    PlainParquetConfiguration conf = new PlainParquetConfiguration();
    conf.setBoolean("parquet.avro.add-list-element-records", false);
    int i = 0;
    try (ParquetReader<GenericRecord> in = AvroParquetReader.<GenericRecord>builder(new LocalInputFile(file.toPath()), conf)
        .withDataModel(new GenericData()).usePageChecksumVerification().build()) {
      for (GenericRecord got = in.read(); got != null; got = in.read(), i++) {
        GenericRecord want = row(i, packs);
        for (Schema.Field field : ROW.getFields()) {
          if (!same(got.get(field.name()), want.get(field.pos()))) {
            return file.getName() + ", row " + i + ", " + field.name() + ": " + got.get(field.name()) + ", want " + want.get(field.pos());
          }
        }
      }
    }
    return i == Integer.parseInt(parts[3]) ? null : file.getName() + ": " + i + " rows";
  }

  private static boolean same(Object got, Object want) {
    if (got instanceof GenericData.Fixed) {
      return Arrays.equals(((GenericData.Fixed) got).bytes(), ((GenericData.Fixed) want).bytes());
    }
    if (got instanceof CharSequence) {
      return got.toString().equals(want);
    }
    return got == null ? want == null : got.equals(want);
  }

  private static String write(File file) throws IOException {
    String[] parts = file.getName().substring(0, file.getName().indexOf('.')).split("-");
    int rows = Integer.parseInt(parts[3]);
    boolean packs = parts[4].equals("well");
    Configuration conf = new Configuration();
    conf.setBoolean("parquet.avro.write-old-list-structure", false);
    AvroParquetWriter.Builder<GenericRecord> builder = AvroParquetWriter.<GenericRecord>builder(new LocalOutputFile(file.toPath()))
        .withSchema(ROW).withDataModel(new GenericData()).withConf(conf).withCompressionCodec(CODECS.get(parts[1]))
        .withWriterVersion(parts[2].equals("v1") ? WriterVersion.PARQUET_1_0 : WriterVersion.PARQUET_2_0)
        .withDictionaryEncoding(false).withByteStreamSplitEncoding("share_split", true).withByteStreamSplitEncoding("height_split", true);
    for (String column : Arrays.asList("id_dict", "height_dict", "name_dict", "note_dict")) {
      builder = builder.withDictionaryEncoding(column, true);
    }
    try (ParquetWriter<GenericRecord> out = builder.build()) {
      for (int i = 0; i < rows; i++) {
        out.write(row(i, packs));
      }
    } catch (UncheckedIOException e) {
      throw e.getCause();
    }
    return null;
  }
}
