extension Duration {
    /// The time limit of a statement that reads all accounts, which takes some ten seconds per million.
    static let forAllAccounts = Duration.seconds(600)
}
