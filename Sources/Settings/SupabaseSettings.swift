package import Sealing
import SignInWithApple

/// The settings for the Supabase project's management API, used only to inspect and renew the secret of web sign-in.
package struct SupabaseSettings: Sendable {
    package let project: String?
    package let accessToken: Secret<String>?
    package let host: String

    var isConfigured: Bool { project != nil && accessToken != nil }

    init(_ reader: inout SettingsReader) {
        project = reader.optional(
            "supabase.project",
            .projectReference,
            "The project's reference, the first part of its address."
        )
        accessToken = reader.secret(
            "supabase.access_token",
            "An access token of Supabase's management API, to renew the client secret of web sign-in."
        )
        host = reader.read(
            "supabase.host",
            .serviceURL,
            default: ProjectAuthSettings.managementAddress,
            "The management API's address; another one only for the sandbox."
        )
        if project != nil, accessToken == nil, !reader.isSet("supabase.access_token_file") {
            reader.report("supabase.access_token_file", "missing: the management API asks for a token")
        }
        if project == nil, accessToken != nil, !reader.isSet("supabase.project") {
            reader.report("supabase.project", "missing: there is a token for the management API but no project")
        }
    }
}

extension SettingForm where Value == String {
    /// A project's reference.
    fileprivate static var projectReference: Self {
        .init(expected: "20 letters, as in https://<reference>.supabase.co", quotes: false) { text in
            text.utf8.count == 20 && text.utf8.allSatisfy { (0x61...0x7A).contains($0) } ? text : nil
        }
    }
}
