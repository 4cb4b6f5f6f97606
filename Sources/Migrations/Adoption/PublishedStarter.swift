/// The objects of the published versions of Supabase's User Management Starter, recognised by their text.
///
/// Two versions are known: the one in the documentation and the one of the Swift example. Expressions are as
/// `pg_get_expr` prints them with an empty search_path. Migrations 0010, 0011 and 0015 contain the same texts.
enum PublishedStarter {
    /// SHA-256 of the body of `handle_new_user` with white space collapsed; both versions have the same body.
    static let signUpDigest = "ca972fdacc6141ce83c3333aed3754e34f1243aad42dd66cacd03ad3b88c337c"

    /// The policy among these whose name and text are those of a published one on `public.profiles`.
    static func profilesPolicy(_ command: PolicyCommand, among policies: [AdoptionFacts.Policy]) -> AdoptionFacts
        .Policy?
    {
        policies.first { $0.isPublic && $0.command == command && profiles.contains($0.rule) }
    }

    /// The policy among these whose name and text are those of a published one on `storage.objects`.
    static func avatarsPolicy(_ command: PolicyCommand, among policies: [AdoptionFacts.Policy]) -> AdoptionFacts.Policy?
    {
        policies.first { $0.isPublic && $0.command == command && avatars.contains($0.rule) }
    }

    /// Whether a published read policy makes objects visible only to downloads.
    ///
    /// The Storage server can delete only objects it can see, so owners need a second policy.
    static func hidesFromDeletes(_ policy: AdoptionFacts.Policy) -> Bool {
        policy.rule.using?.contains("allow_any_operation") == true
    }

    private static let profiles: Set<AdoptionFacts.Policy.Rule> = [
        .init(name: "Public profiles are viewable by everyone.", using: "true"),
        .init(name: "Users can insert their own profile.", check: "(auth.uid() = id)"),
        .init(name: "Users can insert their own profile.", check: "(( SELECT auth.uid() AS uid) = id)"),
        .init(name: "Users can update own profile.", using: "(auth.uid() = id)"),
        .init(name: "Users can update own profile.", using: "(( SELECT auth.uid() AS uid) = id)"),
    ]

    private static let avatars: Set<AdoptionFacts.Policy.Rule> = [
        .init(name: "Avatar images are publicly accessible.", using: "(bucket_id = 'avatars'::text)"),
        .init(
            name: "Avatar images are publicly accessible.",
            using: "((bucket_id = 'avatars'::text) AND storage.allow_any_operation("
                + "ARRAY['object.get_authenticated_info'::text, 'object.get_authenticated'::text]))"
        ),
        .init(name: "Anyone can upload an avatar.", check: "(bucket_id = 'avatars'::text)"),
        .init(
            name: "Anyone can update their own avatar.",
            using: "(auth.uid() = owner)",
            check: "(bucket_id = 'avatars'::text)"
        ),
        .init(
            name: "Anyone can update their own avatar.",
            using: "(( SELECT auth.uid() AS uid) = owner)",
            check: "(bucket_id = 'avatars'::text)"
        ),
    ]
}
