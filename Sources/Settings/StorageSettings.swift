import ObjectStorage
package import Sealing

/// The settings for Supabase Storage.
package struct StorageSettings: Sendable {
    package let url: String?
    package let serviceKey: Secret<String>?
    package let timeout: Duration

    package var isConfigured: Bool { url != nil && serviceKey != nil }

    init(_ reader: inout SettingsReader) {
        url = reader.optional(
            "storage.url",
            .serviceURL,
            "The address of Storage: https://<project>.supabase.co/storage/v1"
        )
        if let url, ProjectReference.ofStorage(url) != nil, !url.hasSuffix("/storage/v1") {
            reader.report("storage.url", "on supabase.co the address of Storage ends in /storage/v1")
        }
        serviceKey = reader.secret("storage.service_key", "The project's secret (service role) key.")
        timeout = reader.read(
            "storage.timeout",
            .duration(.seconds(1) ... .seconds(300)),
            default: .seconds(30),
            "How long one call to Storage may take."
        )
        if url != nil, serviceKey == nil, !reader.isSet("storage.service_key_file") {
            reader.report("storage.service_key_file", "missing: Storage cannot be called without its key")
        }
        if url == nil, serviceKey != nil, !reader.isSet("storage.url") {
            reader.report("storage.url", "missing: there is a key for Storage but no address")
        }
    }
}
