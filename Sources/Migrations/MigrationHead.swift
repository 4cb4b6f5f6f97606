/// The directives in the comments at the head of a migration.
struct MigrationHead {
    private static let mark = "-- accountctl:"

    var bundle: String
    /// Checksums of former texts of the file.
    var replaced: Set<String> = []

    init(fileName: String, text: String) throws(MigrationFileError) {
        var bundle: String?
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            guard line.hasPrefix(Self.mark) else { break }
            for word in line.dropFirst(Self.mark.count).split(whereSeparator: { $0 == " " || $0 == "," }) {
                if word.hasPrefix("bundle="), word.count > 7 {
                    bundle = String(word.dropFirst(7))
                } else if word.hasPrefix("replaces="), word.count == 9 + 64, word.dropFirst(9).allSatisfy(\.isHexDigit)
                {
                    replaced.insert(String(word.dropFirst(9)))
                } else {
                    throw MigrationFileError(fileName: fileName, reason: "the head does not know the word \"\(word)\"")
                }
            }
        }
        guard let bundle else {
            throw MigrationFileError(
                fileName: fileName,
                reason: "the first line must be like \"-- accountctl: bundle=core\""
            )
        }
        self.bundle = bundle
    }
}
