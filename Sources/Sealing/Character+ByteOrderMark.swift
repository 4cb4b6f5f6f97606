extension Character {
    /// The mark that editors on Windows and PowerShell write before the text of a file, where it is no part of a value.
    package static let byteOrderMark: Character = "\u{FEFF}"
}
