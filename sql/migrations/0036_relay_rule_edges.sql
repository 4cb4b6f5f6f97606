-- accountctl: bundle=core
-- The rule of relay addresses where the program's and the database's answers differed: a claim in both places of an identity,
-- a claim without an address, an identity with an empty one, a text that is no address, a domain of the list in capitals.

create or replace function accountctl.relay_domains()
returns text[]
language sql
stable
set search_path = ''
begin atomic
    -- Bare icloud.com holds ordinary mail.
    select array(
        select lower(domain)
        from jsonb_array_elements_text(
            coalesce(
                (
                    select settings.value
                    from accountctl.settings
                    where settings.name = 'mail.relay_domains'
                ),
                '["privaterelay.appleid.com", "private.icloud.com"]'
            )
        ) as listed (domain)
        except
        select 'icloud.com'
    );
end;

create or replace function accountctl.is_relay_address(address text, apple_claim boolean default null)
returns boolean
language sql
stable
set search_path = ''
begin atomic
    -- Apple's claim first. By domain second, and then exactly; without an @ there is no domain.
    select coalesce(
        apple_claim,
        strpos(address, '@') > 0 and split_part(lower(address), '@', -1) = any (accountctl.relay_domains()),
        false
    );
end;

-- The same rule, in the open: a call of the function for each account costs more than all the rest.
create or replace view accountctl.relay_accounts as
select
    users.id as user_id,
    lower(coalesce(known.address, identity.email, users.email)) as address,
    coalesce(known.apple_claim, identity.claim) as apple_claim,
    case
        when coalesce(known.apple_claim, identity.claim) is null then 'domain'
        else 'claim'
    end as known_by,
    coalesce(known.forwarding, 'unknown') as forwarding,
    known.forwarding_changed_at
from auth.users
left join accountctl.relay_addresses as known
    on known.user_id = users.id
left join lateral (
    select
        nullif(identities.identity_data ->> 'email', '') as email,
        -- A sign-in of today adds to what an old one left: the newer place counts.
        case lower(coalesce(
            identities.identity_data #>> '{custom_claims,is_private_email}',
            identities.identity_data ->> 'is_private_email'
        ))
            when 'true' then true
            when 'false' then false
        end as claim
    from auth.identities
    where identities.user_id = users.id
      and identities.provider = 'apple'
    order by identities.created_at desc, identities.provider_id desc
    limit 1
) as identity
    on true
where users.deleted_at is null
  -- Old identities have a claim and no address.
  and coalesce(known.address, identity.email, users.email) <> ''
  and coalesce(
      known.apple_claim,
      identity.claim,
      split_part(lower(coalesce(known.address, identity.email, users.email)), '@', -1)
          = any ((select accountctl.relay_domains())::text[])
      and strpos(coalesce(known.address, identity.email, users.email), '@') > 0,
      false
  );
