extension CatalogSnapshot {
    /// A difference between what was recorded and what is there.
    package struct Difference: Sendable, Equatable {
        /// What has happened to the object since it was recorded.
        package enum Kind: String, Sendable, Equatable {
            case added, removed, changed
        }

        package let kind: Kind
        /// What differs, such as `policy public.profiles "profiles are …"`.
        package let object: String
        package let recorded: String?
        package let present: String?

        /// Whether something is gone or changed that acts or forbids by itself, or may be done now by whoever has the
        /// app's public key.
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

        /// What everybody and the role `anon` may do, one word for each right, such as `anon=D`.
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
