import AccountLifecycle
import Terminal

extension [CredentialVault.KeyUse] {
    /// Says which keys that sealed values need are not in the file; nil if it has all.
    var missing: String? {
        let keys = filter(\.isMissing).map { "\"\($0.key)\"" }
        return keys.isEmpty ? nil : "keys.sealing_file lacks \(Wording.list(keys)), which sealed values need"
    }
}
