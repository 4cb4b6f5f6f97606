import AccountLifecycle
import Sealing

extension Stage {
    /// What a worker has whose file of keys lacks the one that everything here is sealed with.
    func vaultWithAnotherKey() throws -> IdentifierVault {
        IdentifierVault(keys: try KeyRing([.named("other")]), hashKey: vault.hashKey)
    }
}
