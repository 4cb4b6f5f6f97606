import AccountLifecycle
import Sealing
import Terminal

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A list of erasures read from a file or from standard input, which may hold several lists one after another.
struct ErasureListFile {
    private(set) var list = ErasureList()
    /// The databases that the lists were written from, each with its server's timeline at the time.
    private(set) var lives: Set<DatabaseLife> = []
    /// Whether each list has its last line, with the right count.
    private(set) var isWhole = true
    /// Whether each list has a seal that the given key can check; one that matches proves that a holder of the key
    /// wrote the list.
    private(set) var isSealed = true
    /// Whether every seal that the given key can check matches.
    private var isAsSealed = true
    /// How many requests were hashed with other keys, by key.
    private var others: [String: Int] = [:]
    /// The source of the list, for messages.
    private let name: String
    private let key: HashKey

    /// Reads all lists and checks that they may be replayed.
    ///
    /// - Parameters:
    ///   - path: a file, or `-` for standard input.
    ///   - key: the current hash key.
    ///   - skipsOtherKeys: leaves out requests that were hashed with other keys.
    ///   - takesUnsealed: also accepts a list without a seal that the key can check.
    /// - Throws: ``CommandError`` that names every invalid line, or the keys that are missing; also for a list whose
    ///   seal does not match, since a replay deletes for good what the list says.
    init(path: String, key: HashKey, skipsOtherKeys: Bool, takesUnsealed: Bool) throws {
        name = InputLines.name(of: path)
        self.key = key
        var problems = LineProblems()
        var part: (head: ErasureListLine.Head, count: Int, seal: RunningHash?)?
        try InputLines.forEach(in: path, collecting: &problems) { text in
            if text.isEmpty { return }
            switch try ErasureListLine(text) {
            case .head(let head):
                if part != nil { (isWhole, isSealed) = (false, false) }
                try Self.check(head, key, path: name)
                part = (head, 0, head.hashKey == key.id.text ? ErasureListFormat.seal(with: key) : nil)
                part?.seal?.add(text + "\n")
                lives.insert(head.life)
                list.add(moment: head.moment, isWhole: false)
            case .request(let listed):
                guard let head = part?.head else {
                    throw LineProblem("no line before it begins a list")
                }
                part?.count += 1
                part?.seal?.add(text + "\n")
                list.add(receipt: listed.receipt)
                if listed.subject.keyID == key.id.text {
                    list.add(listed, at: head.moment)
                } else {
                    others[listed.subject.keyID, default: 0] += 1
                }
            case .end(let count, let told):
                guard let begun = part else { throw LineProblem("no line before it begins a list") }
                if let told, let seal = begun.seal {
                    if told != seal.bytes.hexadecimal { isAsSealed = false }
                } else {
                    isSealed = false
                }
                if begun.count == count {
                    list.add(moment: begun.head.moment, isWhole: true)
                } else {
                    isWhole = false
                }
                part = nil
            }
        }
        if part != nil { (isWhole, isSealed) = (false, false) }
        if let text = problems.text {
            throw CommandError(
                .usage,
                text,
                hint: "Nothing was done. A list of erasures is what accountctl deletion export writes."
            )
        }
        try requireReplayable(skipsOtherKeys: skipsOtherKeys, takesUnsealed: takesUnsealed)
    }

    /// Refuses a list that can be read but must not be replayed.
    ///
    /// - Throws: ``CommandError``.
    private func requireReplayable(skipsOtherKeys: Bool, takesUnsealed: Bool) throws {
        if lives.isEmpty { throw CommandError(.usage, "\(name) holds no list of erasures") }
        if !isAsSealed {
            throw CommandError(
                .residue,
                "\(name) was changed since accountctl deletion export wrote it: its seal does not match",
                hint: "Nothing was done. Take another copy of the list, as it was written."
            )
        }
        if !others.isEmpty, !skipsOtherKeys { throw Self.other(others, than: key) }
        // Anyone who can change a list can also remove its seal.
        if !isSealed, !takesUnsealed {
            throw CommandError(
                .residue,
                "\(name), or a part of it, has no seal that the hash key \"\(key.id)\" can check: somebody may have "
                    + "changed it",
                hint: "Nothing was done. A list that was cut off has no seal, and that of another key is checked by a "
                    + "replay with that key. If you are sure of the list, give --unsealed."
            )
        }
        if let moment = list.writtenAfterRestore {
            throw CommandError(
                .usage,
                "the list of \(Wording.moment(moment)) has requests as open that have ended in an older one: it was written after "
                    + "the restore, and lacks what was lost",
                hint: "Nothing was done. Replay the lists from before the restore alone."
            )
        }
    }

    private static func check(_ head: ErasureListLine.Head, _ key: HashKey, path: String) throws {
        guard head.hashKey == key.id.text, head.canary != ErasureListFormat.canary(of: key) else { return }
        throw CommandError(
            .residue,
            "keys.hash_file: \"\(key.id)\" is not the hash key that \(path) was written with under that name",
            hint: "Name the right file: with this one, no account of the list is found."
        )
    }

    private static func other(_ keys: [String: Int], than key: HashKey) -> CommandError {
        let told = keys.sorted { $0.key < $1.key }.map {
            "\(Wording.count($0.value, "request")) with \"\(SafeText.line($0.key))\""
        }
        return CommandError(
            .usage,
            "keys.hash_file holds the hash key \"\(key.id)\", and the list has \(Wording.list(told))",
            hint: "Nothing was done. Replay the list with each key, with --skip-other-keys."
        )
    }
}
