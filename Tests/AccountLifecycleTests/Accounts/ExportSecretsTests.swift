import Testing

@testable import AccountLifecycle

/// Which columns of an app's tables an archive leaves out, in the spellings that apps use.
@Suite struct ExportSecretsTests {
    @Test(arguments: [
        "password", "password_hash", "passwordHash", "pwd", "pwd_hash", "passphrase", "refresh_token", "refreshToken",
        "api_key", "apiKey", "apikey", "APIKey", "private key", "client-secret", "otp",
    ])
    func aSecretIsLeftOut(_ column: String) {
        #expect(ExportSecrets.holds(column, of: TableName("public", "posts")))
    }

    @Test(arguments: ["body", "secretary", "tokenized_at", "passport", "key", "code", "postcode", "public_key"])
    func whatOnlyResemblesOneIsNot(_ column: String) {
        #expect(!ExportSecrets.holds(column, of: TableName("public", "posts")))
    }
}
