// Package configedit changes the manager's configuration by its file's text. It reports problems of
// a text and its differences, replaces the file, and keeps versions to roll back to.
//
//	versions, err := configedit.Open(configedit.Options{Folder: filepath.Join(data, "settings"), File: file})
//	version, err := versions.BeginWith(text)         // the version that the manager starts with
//	editor := configedit.NewEditor(versions, shown, read)
//	version, err = editor.Apply(ctx, text, configedit.Change{Known: tag, Who: "ann"})
//
// # Invariants
//
// The file is a whole text at each moment, the old one or the new one, however the manager ends. A
// text that somebody else wrote meanwhile is never replaced: a caller has to name the text that it
// edited. Before the file is touched, the text is checked, and the policy has judged its settings.
// When the running policy then refuses, the old text is put back. Version numbers grow, and none is
// given twice.
//
// # Limits
//
// Versions are texts of the configuration's file, without the files that policy.files names. A
// program that writes into the file in place, while it is replaced, may lose its text.
//
// # Applying a text
//
// The text is read as a start would read it (site.Reads: the same environment and flags). The
// policy's program judges its settings in a process of its own. Only then is the file touched.
//
//   - The new text is written beside the file, with its mode and owner, and the two are exchanged
//     in one step (RENAME_EXCHANGE). So a text that somebody wrote at the last moment is detected,
//     and put back. Links, files of other owners and read-only folders are refused before.
//   - The configuration is offered to the running policy: its settings go through the core, or
//     another program takes over between two rounds. The caller waits for that. When the policy
//     refuses, the old text is put back. When it accepts, the text becomes a version, and
//     everything else takes effect: settings of the core, roles, lists of pools, limits, issuers of
//     tokens.
//   - A text that somebody wrote into the file by hand is offered in the same way, and takes effect
//     in the same order. Only the file is not put back.
//   - The watcher of the file sees an applied text a moment later, which changes nothing. A text that
//     the file no longer has is dropped.
//   - A text being applied is noted first (settings/pending.json), and becomes a version by a
//     rename. After a kill the manager finds by the file's hash which text is in force. Texts
//     edited by hand become versions when the policy has accepted them.
//   - The version's number is in core.Settings, and so in the event log, in checkpoints and in
//     change rows. History records the version of each job. Numbers continue after a restart.
package configedit
