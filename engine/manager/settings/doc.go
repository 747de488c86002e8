// Package settings changes the manager's configuration by its file's text: it says what is wrong
// with a text and what it would change, puts it in the file's place, and keeps versions to roll
// back to.
//
//	book, err := settings.Open(settings.Options{Folder: filepath.Join(data, "settings"), File: file})
//	version, err := book.Begin(text)             // the one that the manager starts with
//	editor := settings.NewEditor(book, shown, read)
//	version, err = editor.Apply(ctx, text, settings.Change{Known: tag, Who: "ann"})
//
// # What holds
//
// The file is a whole text at each moment, the old one or the new one, whatever ends the manager.
// A text that somebody else wrote meanwhile is never replaced: who applies has to name the text
// that he saw. A text is checked, and the policy has judged its settings, before the file is
// touched; where the running policy then refuses, the file goes back. Version numbers grow, and
// none is given twice.
//
// # Limits
//
// Versions are texts of the configuration's file. The files that policy.files names are not in
// them. A program that writes into the file in place, while it is replaced, may lose what it writes.
package settings
