package structured

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/hamadryad/hamadryad/sdk/job"
)

// parquetFit reads the rows of a file as rows of a program's type. The file is refused if the type
// can't hold all values of its columns. Nulls and times are checked in each row instead. It
// implements parquet.Conversion.
type parquetFit struct {
	parquet.Conversion                 // converts what needs no check
	from               []*columnFit    // by the file's column; nil where no field reads it
	mask               map[int]uint64  // by the program's column: the bits of unsigned numbers that widen
	row                int64           // number of the next row in the file
	program            *parquet.Schema // of the program's type
}

// columnFit is what is checked in a column of the file.
type columnFit struct {
	path     []string
	field    string   // the program's type
	nulls    []string // by definition level: the part of the path that must not be null there
	min, max int64    // of integers, when max is not 0
	what     string   // the type whose bounds are min and max
}

// newParquetFit compares a file's schema with that of a program's type.
func newParquetFit(file, program *parquet.Schema, of reflect.Type) (*parquetFit, error) {
	f := &parquetFit{from: make([]*columnFit, len(file.Columns())), mask: map[int]uint64{}, program: program}
	if err := f.group(nil, file, program, of, nil); err != nil {
		return nil, job.Permanent(err)
	}
	conv, err := parquet.Convert(program, file)
	f.Conversion = conv
	return f, job.Permanent(err)
}

// group compares the fields of a group; group is its type in the program. nulls are the parts of
// the path to it that must not be null, by definition level.
func (f *parquetFit) group(path []string, file, program parquet.Node, group reflect.Type, nulls []string) error {
	for _, want := range program.Fields() {
		of := typeOfField(group, program, want)
		path := append(slices.Clip(path), want.Name())
		have, err := fieldOf(file, path)
		if err != nil {
			return err
		}
		if have != nil {
			if err := f.node(path, have, want, of, nulls); err != nil {
				return err
			}
		} else if !want.Optional() {
			return fmt.Errorf("the file has no column %q, which the program reads into %s: it has %s. A field may be missing only where it is a pointer or has the tag optional",
				strings.Join(path, "."), of, names(file))
		}
	}
	return nil
}

// fieldOf returns the field at the end of a path, nil if the group has none.
func fieldOf(group parquet.Node, path []string) (found parquet.Node, err error) {
	for _, f := range group.Fields() {
		if f.Name() != path[len(path)-1] {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("the file has two columns %q", strings.Join(path, "."))
		}
		found = f
	}
	return found, nil
}

func names(group parquet.Node) string {
	var all []string
	for _, f := range group.Fields() {
		all = append(all, f.Name())
	}
	return strings.Join(all, ", ")
}

// typeOfField returns the program's type for a field of a group. For lists and maps that is the
// group that Parquet makes of them.
func typeOfField(group reflect.Type, program parquet.Node, f parquet.Field) reflect.Type {
	for group.Kind() == reflect.Pointer {
		group = group.Elem()
	}
	own := program.GoType()
	for own.Kind() == reflect.Pointer || own.Kind() == reflect.Slice {
		own = own.Elem()
	}
	switch {
	case group.Kind() == reflect.Map && f.Name() == "key":
		return group.Key()
	case group.Kind() == reflect.Map && f.Name() == "value":
		return group.Elem()
	case group.Kind() == reflect.Struct && group == own:
		return f.Value(reflect.New(group).Elem()).Type()
	}
	return group
}

// node compares one field; of is its type in the program.
func (f *parquetFit) node(path []string, file, program parquet.Node, of reflect.Type, nulls []string) error {
	if file.Leaf() != program.Leaf() || file.Repeated() != program.Repeated() {
		return mismatch(path, file, program, of)
	}
	if program.Repeated() && of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	switch {
	case file.Repeated():
		nulls = append(slices.Clip(nulls), "") // a null list or map is an empty one
	case file.Optional():
		null := strings.Join(path, ".")
		if program.Optional() || isA[*format.ListType](file) || isA[*format.MapType](file) {
			null = "" // then a slice or map is empty
		}
		nulls = append(slices.Clip(nulls), null)
	}
	if !program.Leaf() {
		return f.group(path, file, program, of, nulls)
	}
	c := &columnFit{path: path, field: of.String(), nulls: nulls}
	mask, ok := c.leaf(file.Type(), program.Type(), of)
	if !ok {
		return mismatch(path, file, program, of)
	}
	return f.add(c, mask, file)
}

// add adds a column that passed the comparison.
func (f *parquetFit) add(c *columnFit, mask uint64, file parquet.Node) error {
	at, is := file.(*parquet.Column)
	if !is || at.Index() < 0 || at.Index() >= len(f.from) {
		return fmt.Errorf("column %q has no place: the file is damaged", strings.Join(c.path, "."))
	}
	f.from[at.Index()] = c
	if leaf, ok := f.program.Lookup(c.path...); ok && mask != 0 {
		f.mask[leaf.ColumnIndex] = mask
	}
	return nil
}

// leaf reports whether a column's type fits into a field's. Unsigned numbers that are widened must
// be masked afterwards.
func (c *columnFit) leaf(file, to parquet.Type, of reflect.Type) (mask uint64, ok bool) {
	if from, is := integer(file); is {
		into, is := integer(to)
		if !is || !from.within(into) {
			return 0, false
		}
		c.min, c.max, c.what = into.bounds()
		if !from.signed && file.Kind() != to.Kind() {
			mask = math.MaxUint32
		}
		return mask, true
	}
	if from, is := logical[*format.TimestampType](file); is {
		into, is := logical[*format.TimestampType](to)
		return 0, is && from.IsAdjustedToUTC == into.IsAdjustedToUTC && c.time(from.Unit, into.Unit, of)
	}
	if from, is := logical[*format.DecimalType](file); is {
		into, is := logical[*format.DecimalType](to)
		wider := file.Kind() == parquet.Int32 && to.Kind() == parquet.Int64
		return 0, is && from.Scale == into.Scale && from.Precision <= into.Precision && (file.Kind() == to.Kind() && file.Length() == to.Length() || wider)
	}
	switch {
	case parquet.EqualTypes(file, to):
		return 0, true
	case file.Kind() == parquet.Float && to.Kind() == parquet.Double:
		return 0, plain(file) && plain(to)
	case file.Kind() == parquet.ByteArray || file.Kind() == parquet.FixedLenByteArray:
		return 0, raw(file) && raw(to) && (to.Kind() == parquet.ByteArray || to.Kind() == file.Kind() && to.Length() == file.Length())
	}
	return 0, false
}

// time reports whether times of one unit can be read in another, and sets their bounds: a time.Time
// is read through nanoseconds.
func (c *columnFit) time(from, into format.TimeUnit, field reflect.Type) bool {
	nanos := func(u format.TimeUnit) int64 {
		switch u.Value.(type) {
		case *format.MilliSeconds:
			return int64(time.Millisecond)
		case *format.MicroSeconds:
			return int64(time.Microsecond)
		case *format.NanoSeconds:
			return int64(time.Nanosecond)
		}
		return 0
	}
	by, to := nanos(from), nanos(into)
	if field.Kind() == reflect.Pointer {
		field = field.Elem()
	}
	if by == 0 || to == 0 || by < to {
		return false // an unknown unit, or one that truncates times
	}
	if field == reflect.TypeFor[time.Time]() {
		to = 1
	}
	if by > to {
		c.max = math.MaxInt64 / (by / to)
		c.min, c.what = -c.max, "times from 1677 to 2262: read it into an int64 with the tag timestamp and the file's unit"
	}
	return true
}

// integerType is a type of whole numbers.
type integerType struct {
	bits   int8
	signed bool
}

func integer(t parquet.Type) (integerType, bool) {
	if of, is := logical[*format.IntType](t); is {
		return integerType{of.BitWidth, of.IsSigned}, true
	}
	switch {
	case !plain(t):
	case t.Kind() == parquet.Int32:
		return integerType{32, true}, true
	case t.Kind() == parquet.Int64:
		return integerType{64, true}, true
	}
	return integerType{}, false
}

// within reports whether each number of the type is also a number of another type.
func (i integerType) within(of integerType) bool {
	return i.signed == of.signed && i.bits <= of.bits || !i.signed && of.signed && i.bits < of.bits
}

// bounds returns the range of a type that is smaller than its storage, for files that exceed it.
func (i integerType) bounds() (lo, hi int64, what string) {
	switch {
	case i.bits >= 32:
		return 0, 0, ""
	case i.signed:
		hi = 1<<(i.bits-1) - 1
		return -hi - 1, hi, fmt.Sprintf("%d to %d", -hi-1, hi)
	}
	hi = 1<<i.bits - 1
	return 0, hi, fmt.Sprintf("0 to %d", hi)
}

// plain reports whether a type has no logical type.
func plain(t parquet.Type) bool { return t.LogicalType() == nil || t.LogicalType().Value == nil }

// raw reports whether a type's values are plain bytes, whatever its logical type.
func raw(t parquet.Type) bool {
	if plain(t) {
		return t.Kind() == parquet.ByteArray || t.Kind() == parquet.FixedLenByteArray
	}
	switch t.LogicalType().Value.(type) {
	case *format.StringType, *format.EnumType, *format.JsonType, *format.BsonType, *format.UUIDType:
		return true
	}
	return false
}

func logical[L any](t parquet.Type) (of L, is bool) {
	if !plain(t) {
		of, is = t.LogicalType().Value.(L)
	}
	return of, is
}

func isA[L any](n parquet.Node) bool {
	_, is := logical[L](n.Type())
	return is
}

func mismatch(path []string, file, program parquet.Node, of reflect.Type) error {
	return fmt.Errorf("column %q is %s, the program reads it as %s (%s): give the field the file's type, and the tag that says what its values are (date, timestamp, decimal, list, …)",
		strings.Join(path, "."), describe(file), describe(program), of)
}

// describe formats a type in Parquet's terms.
func describe(n parquet.Node) string {
	s := n.Type().String()
	switch {
	case !n.Leaf() && plain(n.Type()):
		s = "a group"
	case n.Leaf() && !plain(n.Type()) && n.Type().String() != n.Type().Kind().String():
		s = fmt.Sprintf("%s %s", n.Type().Kind(), n.Type())
	}
	if n.Repeated() {
		s = "repeated " + s
	}
	return s
}

// rows returns a row group converted to the program's type.
func (f *parquetFit) rows(group parquet.RowGroup) parquet.RowGroup {
	if as := parquet.ConvertRowGroup(group, f); as != group {
		return as
	}
	return fittingGroup{group, f} // the library would not convert it
}

type fittingGroup struct {
	parquet.RowGroup
	fit *parquetFit
}

// Rows implements parquet.RowGroup.
func (g fittingGroup) Rows() parquet.Rows { return fittingRows{g.RowGroup.Rows(), g.fit} }

type fittingRows struct {
	parquet.Rows
	fit *parquetFit
}

// ReadRows implements parquet.RowReader.
func (r fittingRows) ReadRows(rows []parquet.Row) (int, error) {
	n, err := r.Rows.ReadRows(rows)
	if fit, wrong := r.fit.Convert(rows[:n]); wrong != nil {
		return fit, wrong
	}
	return n, err
}

// Convert implements parquet.Conversion.
func (f *parquetFit) Convert(rows []parquet.Row) (int, error) {
	for i, row := range rows {
		for _, v := range row {
			if c := f.from[v.Column()]; c != nil {
				if err := c.check(v); err != nil {
					return i, fmt.Errorf("row %d: %w", f.row+int64(i), err)
				}
			}
		}
	}
	f.row += int64(len(rows))
	n, err := f.Conversion.Convert(rows)
	if err != nil || len(f.mask) == 0 {
		return n, err
	}
	for _, row := range rows[:n] {
		for i, v := range row {
			if mask := f.mask[v.Column()]; mask != 0 && !v.IsNull() {
				row[i] = parquet.Int64Value(int64(v.Uint64()&mask)).Level(v.RepetitionLevel(), v.DefinitionLevel(), v.Column())
			}
		}
	}
	return n, nil
}

// check checks a value of the file.
func (c *columnFit) check(v parquet.Value) error {
	if at := v.DefinitionLevel(); at < len(c.nulls) {
		if c.nulls[at] != "" {
			return job.Permanent(fmt.Errorf("column %q: %q is null, which the program's %s can't hold: make the field a pointer, or give it the tag optional to read nulls as its zero value", strings.Join(c.path, "."), c.nulls[at], c.field))
		}
		return nil
	}
	if c.max == 0 || v.IsNull() {
		return nil
	}
	n := v.Int64()
	if v.Kind() == parquet.Int32 {
		n = int64(v.Int32())
	}
	if n < c.min || n > c.max {
		return job.Permanent(fmt.Errorf("column %q is %d, but the program's %s holds %s", strings.Join(c.path, "."), n, c.field, c.what))
	}
	return nil
}
