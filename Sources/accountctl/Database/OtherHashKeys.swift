import AccountLifecycle
import Postgres
import Sealing
import Terminal

/// The other hash keys with which something was hashed in this database.
struct OtherHashKeys {
    private let names: String

    /// - Parameter names: the names of the keys; without any, the result is nil.
    init?(_ names: [String]) {
        guard !names.isEmpty else { return nil }
        let quoted = Wording.list(names.map { "\"\($0)\"" }, "or")
        self.names = "the hash key" + (names.count == 1 ? " " : "s ") + quoted
    }

    /// The hash keys other than a given one; nil if there are no others, or no key is given.
    init?(beside key: HashKey?, on connection: isolated Connection) throws {
        guard let key else { return nil }
        self.init(try HashKeyCanary.standing(of: key, on: connection).others)
    }

    /// The hash keys other than a new one; nil if that key is known here, or is the first.
    init?(besideNew key: HashKey, on connection: isolated Connection) throws {
        guard case .unknown(let others) = try HashKeyCanary.standing(of: key, on: connection) else { return nil }
        self.init(others)
    }

    /// The warning before a new key is used beside these: it may be from the wrong file.
    func warning(ofNew key: KeyID) -> String {
        "the hash key \"\(key.text)\" was never used here: it does not find what was done under \(names), and no other "
            + "key finds what is done with it"
    }

    /// The hint for a key that is new beside others.
    static let hintOfNew = """
        Restore the right file. If a new key is meant, keep the old file, too, since no other key finds what was done before, and register \
        the new one: accountctl deletion pause --all and, when a worker runs: accountctl deletion resume --all
        """

    /// The note that an erasure under these keys cannot be found.
    var sentence: String { "whether it was erased under \(names) cannot be told with the key in keys.hash_file" }
    /// The note that entries of the log under these keys are missing.
    var gap: String { "what was done under \(names) is not found with the key in keys.hash_file" }
    /// The note that an entry of the log may or may not be about an account.
    var doubt: String { "whether this line is about this account cannot be told: it was written under \(names)" }
    /// The hint for all three notes.
    var hint: String { "Name the file of that key in keys.hash_file to look there." }
}
