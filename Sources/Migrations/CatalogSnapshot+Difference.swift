extension CatalogSnapshot {
    /// A difference between the recorded and the present state.
    package struct Difference: Sendable, Equatable {
        /// The change to the object since it was recorded.
        package enum Kind: String, Sendable, Equatable {
            case added, removed, changed
        }

        package let kind: Kind
        /// The object that differs, such as `policy public.profiles "profiles are …"`.
        package let object: String
        package let recorded: String?
        package let present: String?

        /// Whether the difference removes or changes an object that takes effect by itself, or grants new rights to
        /// anyone with the app's public key.
        package var isGrave: Bool {
            let actsByItself = object.hasPrefix("policy ") || object.hasPrefix("trigger ")
            switch kind {
            case .added: return false
            case .removed: return actsByItself
            case .changed:
                return actsByItself || isWithoutRowSecurity
                    || !Self.openRights(present).isSubset(of: Self.openRights(recorded))
            }
        }

        private var isWithoutRowSecurity: Bool {
            let isOn = " row security true "
            return recorded?.contains(isOn) == true && present?.contains(isOn) == false
        }

        /// The rights of `public` and of the role `anon`, one string per right, such as `anon=D`.
        private static func openRights(_ definition: String?) -> Set<String> {
            let grants = (definition ?? "").split(separator: " ").filter {
                ($0.hasPrefix("=") || $0.hasPrefix("anon=")) && $0.contains("/")
            }
            return Set(
                grants.flatMap { grant in
                    let role = grant.prefix { $0 != "=" }
                    return grant.dropFirst(role.count + 1).prefix { $0 != "/" }.map { "\(role)=\($0)" }
                }
            )
        }
    }
}
