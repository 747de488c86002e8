// Prints the rows of Avro and Parquet files as JSON, as Apache's own libraries read
// them: for each file a line with its name, then one for each row.
//
//   java -cp CLASSES:JARS Rows FILE... COLUMN=TEXT@FILE...
//
// The second form prints the rows that have that text in a column of strings, found
// with the bounds and indexes that the Parquet file has. Floating-point numbers are
// printed as their bits, an integer, so that all of them can be told apart; bytes in
// hexadecimal; a decimal as text; a time as the file counts it.

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.File;
import java.io.IOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Map;
import org.apache.avro.Conversions;
import org.apache.avro.Schema;
import org.apache.avro.file.DataFileReader;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.IndexedRecord;
import org.apache.parquet.avro.AvroParquetReader;
import org.apache.parquet.conf.PlainParquetConfiguration;
import org.apache.parquet.filter2.compat.FilterCompat;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.hadoop.ParquetReader;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.io.api.Binary;

public class Rows {
  private static final GenericData values = new GenericData();
  private static JsonGenerator out;

  public static void main(String[] args) throws IOException {
    values.addLogicalTypeConversion(new Conversions.DecimalConversion());
    out = new JsonFactory().createGenerator(System.out);
    out.setRootValueSeparator(null);
    for (String arg : args) {
      line(arg);
      if (arg.endsWith(".avro")) {
        avro(new File(arg));
        continue;
      }
      String[] filterAndFile = arg.split("@");
      if (filterAndFile.length == 1) {
        parquet(new File(arg), FilterCompat.NOOP);
        continue;
      }
      String[] filter = filterAndFile[0].split("=");
      parquet(new File(filterAndFile[1]), FilterCompat.get(FilterApi.eq(FilterApi.binaryColumn(filter[0]), Binary.fromString(filter[1]))));
    }
    out.close();
  }

  private static void avro(File file) throws IOException {
    try (DataFileReader<Object> in = new DataFileReader<>(file, new GenericDatumReader<>(null, null, values))) {
      for (Object row : in) {
        line(row);
      }
    }
  }

  private static void parquet(File file, FilterCompat.Filter filter) throws IOException {
    PlainParquetConfiguration conf = new PlainParquetConfiguration();
    conf.setBoolean("parquet.avro.add-list-element-records", false); // lists are of the form of today
    try (ParquetReader<Object> in = AvroParquetReader.builder(new LocalInputFile(file.toPath()), conf)
        .withDataModel(values).withFilter(filter).usePageChecksumVerification().build()) {
      for (Object row = in.read(); row != null; row = in.read()) {
        line(row);
      }
    }
  }

  private static void line(Object value) throws IOException {
    write(value);
    out.writeRaw('\n');
  }

  private static void write(Object value) throws IOException {
    if (value == null) {
      out.writeNull();
    } else if (value instanceof IndexedRecord) {
      record((IndexedRecord) value);
    } else if (value instanceof Map) {
      map((Map<?, ?>) value);
    } else if (value instanceof Collection) {
      out.writeStartArray();
      for (Object item : (Collection<?>) value) {
        write(item);
      }
      out.writeEndArray();
    } else if (value instanceof ByteBuffer) {
      ByteBuffer bytes = ((ByteBuffer) value).duplicate();
      byte[] copy = new byte[bytes.remaining()];
      bytes.get(copy);
      hexadecimal(copy);
    } else if (value instanceof GenericFixed) {
      hexadecimal(((GenericFixed) value).bytes());
    } else if (value instanceof Boolean) {
      out.writeBoolean((Boolean) value);
    } else if (value instanceof Integer || value instanceof Long) {
      out.writeNumber(((Number) value).longValue());
    } else if (value instanceof Float) {
      out.writeNumber(Float.floatToRawIntBits((Float) value));
    } else if (value instanceof Double) {
      out.writeNumber(Double.doubleToRawLongBits((Double) value));
    } else if (value instanceof BigDecimal || value instanceof CharSequence || value instanceof GenericData.EnumSymbol) {
      out.writeString(value.toString());
    } else {
      throw new IOException("a value of " + value.getClass());
    }
  }

  private static void record(IndexedRecord record) throws IOException {
    out.writeStartObject();
    for (Schema.Field field : record.getSchema().getFields()) {
      out.writeFieldName(field.name());
      write(record.get(field.pos()));
    }
    out.writeEndObject();
  }

  private static void map(Map<?, ?> map) throws IOException {
    out.writeStartObject();
    for (Map.Entry<?, ?> entry : map.entrySet()) {
      out.writeFieldName(entry.getKey().toString());
      write(entry.getValue());
    }
    out.writeEndObject();
  }

  private static void hexadecimal(byte[] bytes) throws IOException {
    StringBuilder text = new StringBuilder();
    for (byte b : bytes) {
      text.append(Character.forDigit(b >> 4 & 15, 16)).append(Character.forDigit(b & 15, 16));
    }
    out.writeString(text.toString());
  }
}
