import Foundation
import Postgres

/// Turns accounts into kinds other than those of people who sign up by address or with Apple.
extension Stage {
    /// Deletes an account as the auth server does when it keeps the row.
    func softDelete(_ person: Person) async throws {
        try await sql(
            """
            update auth.users
            set deleted_at = clock_timestamp(), email = 'hash', raw_user_meta_data = '{}'
            where id = \(person.id)
            """
        )
        try await sql(
            "update auth.identities set provider_id = 'hash', identity_data = '{}' where user_id = \(person.id)"
        )
        try await sql("delete from auth.sessions where user_id = \(person.id)")
    }

    /// Makes an account anonymous: without an address and without an identity.
    func makeAnonymous(_ person: Person) async throws {
        try await sql("delete from auth.identities where user_id = \(person.id)")
        try await sql(
            """
            update auth.users
            set is_anonymous = true, email = null, raw_user_meta_data = '{}'
            where id = \(person.id)
            """
        )
    }

    /// Makes an account one that signs in by phone number only.
    func makePhoneOnly(_ person: Person, number: String) async throws {
        try await sql(
            """
            update auth.users
            set email = null, phone = \(number), phone_confirmed_at = now(), raw_user_meta_data = '{}'
            where id = \(person.id)
            """
        )
        try await sql(
            """
            update auth.identities
            set provider = 'phone', identity_data = jsonb_build_object('sub', \(person.text)::text, 'phone', \(number)::text)
            where user_id = \(person.id)
            """
        )
    }

    /// Makes an account one of a company's single sign-on, whose address another account may have as well.
    func makeSingleSignOn(_ person: Person) async throws {
        try await sql("update auth.users set is_sso_user = true where id = \(person.id)")
        try await sql(
            """
            update auth.identities
            set provider = 'sso:11111111-1111-4111-8111-111111111111', provider_id = \(person.email)
            where user_id = \(person.id)
            """
        )
    }
}
