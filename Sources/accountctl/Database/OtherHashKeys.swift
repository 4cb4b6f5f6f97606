import AccountLifecycle
import Postgres
import Sealing
import Terminal

/// Other hash keys than the one at hand that something was hashed with in this database.
struct OtherHashKeys {
    private let names: String

    /// - Parameter names: those of the keys; nil comes of none.
    init?(_ names: [String]) {
        guard !names.isEmpty else { return nil }
        let quoted = Wording.list(names.map { "\"\($0)\"" }, "or")
        self.names = "the hash key" + (names.count == 1 ? " " : "s ") + quoted
    }

    /// The hash keys besides a given one; nil where there are no others, or no given one.
    init?(beside key: HashKey?, on connection: isolated Connection) throws {
        guard let key else { return nil }
        self.init(try HashKeyCanary.standing(of: key, on: connection).others)
    }

    /// The hash keys besides one that nothing was hashed with here; nil where that one is known, or the first.
    init?(besideNew key: HashKey, on connection: isolated Connection) throws {
        guard case .unknown(let others) = try HashKeyCanary.standing(of: key, on: connection) else { return nil }
        self.init(others)
    }

    /// What somebody should know before something is hashed with a key that is new beside them: it may be the wrong
    /// file.
    func warning(ofNew key: KeyID) -> String {
        "the hash key \"\(key.text)\" was never used here: what was done under \(names) is not found with it, and what is "
            + "done with it is found with it alone"
    }

    /// What to do about a key that is new beside others.
    static let hintOfNew = """
        Put the right file back. Where a new key is meant, keep the old file, too, which alone finds what was before, and make the new one \
        known by the one act that does so: accountctl deletion pause --all, and, when a worker runs: accountctl deletion resume --all
        """

    /// What cannot be told.
    var sentence: String { "whether it was erased under \(names) cannot be told with the one in keys.hash_file" }
    /// What of the log is missing.
    var gap: String { "what was done under \(names) is not found with the one in keys.hash_file" }
    /// What cannot be told of a line of the log.
    var doubt: String { "whether it is about them cannot be told: it was written under \(names)" }
    /// What to do about it.
    var hint: String { "Name the file of that key in keys.hash_file to look there." }
}
