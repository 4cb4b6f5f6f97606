/// What the comments at the head of a migration say.
struct MigrationHead {
    private static let mark = "-- accountctl:"

    var bundle: String
    var isWithoutTransaction = false

    init(fileName: String, text: String) throws(MigrationFileError) {
        var bundle: String?
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            guard line.hasPrefix(Self.mark) else { break }
            for word in line.dropFirst(Self.mark.count).split(whereSeparator: { $0 == " " || $0 == "," }) {
                if word == "no-transaction" {
                    isWithoutTransaction = true
                } else if word.hasPrefix("bundle="), word.count > 7 {
                    bundle = String(word.dropFirst(7))
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
