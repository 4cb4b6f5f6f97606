import AccountLifecycle
import Sealing

extension Stage {
    /// A vault of a worker whose key file lacks the key that everything here is sealed with.
    func vaultWithAnotherKey() throws -> IdentifierVault {
        IdentifierVault(keys: try KeyRing([.named("other")]), hashKey: vault.hashKey)
    }
}
