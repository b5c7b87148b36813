"""The words of generated logs, and the SQL that turns the number of a query or url into text.

All words are generic or invented; `FAMOUS` names the few real sites.
Numbers and text correspond one to one, so a log is drawn as numbers and spelt out when written.
A number holds its parts as bits, high to low: kind (2), topic (6), home town (10), rank (44).
"""

from __future__ import annotations

from slogan.arrays import Ints

SITE, TOPICAL, PERSONAL = range(3)
"""Kinds of queries: the name of a site, a question of a topic, one that names people at home."""

_KIND_BIT, _TOPIC_BIT, _HOME_BIT = 60, 54, 44


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


FAMOUS = _words(
    "google yahoo myspace ebay mapquest hotmail amazon craigslist msn weather wikipedia cnn "
    "walmart imdb netflix expedia"
)

_TOPICS = {
    "portals": "webmail homepage toolbar chatroom screensaver emoticon messenger browser email "
    "antivirus spyware newsgroup weblog guestbook avatar password startpage bookmark podcast popup",
    "recipes": "casserole lasagna meatloaf chowder brisket potroast stirfry quesadilla marinade "
    "gravy coleslaw dumplings omelet frittata risotto tamales gumbo jambalaya enchilada goulash",
    "cars": "sedan coupe pickup minivan hatchback convertible roadster carburetor transmission "
    "brakes muffler windshield tires odometer dealership camshaft bumper alternator hubcap gasket",
    "travel": "airfare cruise resort hotel itinerary passport luggage hostel timeshare motel "
    "beachfront sightseeing flights backpacking vacation stopover airport visa tourist excursion",
    "health": "diabetes cholesterol asthma arthritis migraine allergy angina shingles eczema "
    "bronchitis pneumonia anemia thyroid gallbladder ulcer hernia insomnia vertigo sciatica acne",
    "music": "guitar piano lyrics drums violin saxophone trumpet karaoke banjo clarinet accordion "
    "songwriter sheetmusic ukulele harmonica choir orchestra symphony amplifier jukebox",
    "movies": "trailer matinee boxoffice screenplay soundtrack actress sequel thriller prequel "
    "oscars animation cinema dvd moviestar cameo premiere western widescreen filmfest popcorn",
    "local news": "newspaper obituaries headlines mayor council sheriff courthouse editorial "
    "broadcast traffic curfew pothole referendum levy wildfire parade zoning precinct jury ballot",
    "real estate": "condo duplex townhouse foreclosure realtor mortgage escrow appraisal bungalow "
    "apartment landlord tenant lease acreage subdivision mobilehome deed penthouse closing cottage",
    "computers": "laptop desktop motherboard keyboard printer scanner modem router harddrive "
    "processor monitor joystick notebook webcam firewall server touchpad inkjet floppy netbook",
    "television": "sitcom soapopera realityshow episode miniseries gameshow rerun cable finale "
    "talkshow newscast contestant primetime cartoon spinoff tvguide pilot anchorman game variety",
    "fashion": "dress blouse handbag sandals stiletto denim skirt sweater swimsuit blazer necktie "
    "cardigan corset scarf sneakers boots loafers tuxedo hoodie overcoat",
    "money": "creditcard loan refinance bankruptcy savings annuity debt stocks mutualfund "
    "dividend broker bonds retirement portfolio teller treasury thrift mortgages equity pawnshop",
    "gardening": "perennials tulips hydrangea mulch compost fertilizer rosebush tomatoes peonies "
    "trellis wheelbarrow seedlings hosta lavender pruning topsoil watering begonia azalea daisy",
    "dogs": "puppy beagle poodle labrador terrier dachshund kennel leash retriever spaniel collie "
    "bulldog chihuahua rottweiler schnauzer greyhound mastiff husky obedience groomer",
    "careers": "resume salary interview coverletter jobless payroll staffing recruiter overtime "
    "telecommute trainee vacancy employer paycheck pension layoff hiring jobfair promotion intern",
    "football": "quarterback touchdown linebacker superbowl gridiron fullback fieldgoal punter "
    "cornerback scrimmage playoffs kickoff tailgate endzone huddle blitz halftime lineman "
    "receiver pigskin",
    "video games": "cheats walkthrough arcade console gamepad platformer shooter sudoku solitaire "
    "emulator minesweeper pinball sprite dungeon quest joypad simulator highscore combo bossfight",
    "parenting": "toddler stroller crib diaper babyshower daycare pacifier highchair preschool "
    "colic lullaby ultrasound midwife carseat potty teething newborn babysitter twins pregnancy",
    "restaurants": "pizzeria steakhouse diner buffet bistro takeout brewery sushi barbecue "
    "delicatessen seafood winery cafe burrito coffeehouse creamery tavern menu brunch tapas",
    "school": "homework algebra geometry essay worksheet syllabus curriculum recital flashcards "
    "spelling tutoring phonics textbook fractions grammar biology chemistry quiz recess lessonplan",
    "baseball": "pitcher shortstop homerun outfield dugout bullpen catcher batting ballpark "
    "softball umpire inning mitt bunt slugger scorecard fastball knuckleball worldseries pennant",
    "home repair": "drywall plumbing faucet roofing gutter insulation linoleum hardwood grout "
    "caulk siding furnace thermostat countertop cabinet doorknob skylight basement toilet laminate",
    "beauty": "lipstick mascara eyeliner cleanser shampoo conditioner perfume manicure nailpolish "
    "rouge toner hairspray tanning wrinkle lotion blush cosmetics eyebrow sunscreen facial",
    "phones": "cellphone ringtone bluetooth headset prepaid dialup texting handset pager roaming "
    "antenna beeper flipphone simcard charger cordless faceplate dialtone telephone areacode",
    "law": "attorney lawsuit divorce custody subpoena probate felony misdemeanor parole bail "
    "plaintiff copyright patent trademark notary affidavit alimony injunction statute paralegal",
    "religion": "scripture gospel prayer church sermon hymn catholic baptist methodist lutheran "
    "rosary psalm devotional missionary pastor easter lent parable chapel communion",
    "fitness": "treadmill pilates yoga aerobics dumbbell elliptical crunches marathon jogging "
    "pedometer bodybuilding stretching gym kettlebell triathlon cardio biceps pushups rowing abs",
    "weddings": "bride bridesmaid invitation bouquet veil reception honeymoon vows registry "
    "caterer florist officiant rehearsal bridal garter corsage elopement weddingcake tiara fiancee",
    "diet": "calorie lowcarb protein vitamin nutrition glycemic metabolism weightloss smoothie "
    "detox appetite carbohydrate sodium vegetarian vegan glutenfree superfood omega fasting fiber",
    "furniture": "sofa recliner futon armoire bookcase ottoman mattress headboard dresser "
    "loveseat nightstand barstool wardrobe hutch chaise bunkbed sectional credenza daybed hammock",
    "college": "university dormitory fraternity sorority tuition scholarship admissions "
    "transcript campus professor gradschool alumni financialaid commencement dissertation "
    "registrar provost roommate thesis semester",
    "books": "novel paperback bestseller poetry memoir audiobook bookclub hardcover biography "
    "fairytale haiku sonnet anthology trilogy thesaurus dictionary atlas quotation almanac fable",
    "genealogy": "ancestry census surname baptism cemetery clan heraldry familytree pedigree "
    "ancestor lineage parish emigrant crest heirloom tombstone homestead kinfolk kinship nickname",
    "crafts": "quilt crochet knitting scrapbook embroidery beading origami yarn lace needlepoint "
    "sewing decoupage applique macrame pottery woodcarving loom rubberstamp felting batik",
    "weather": "forecast radar hurricane tornado thunderstorm blizzard rainfall humidity doppler "
    "snowfall barometer drought hailstorm windchill pollen flood lightning sunrise tides frost",
    "baking": "cupcake brownie cheesecake frosting sourdough biscuit muffin cobbler shortbread "
    "meringue fondant scone strudel macaroon gingerbread pretzel focaccia eclair custard yeast",
    "fishing": "trout walleye tackle bait lure flyrod crappie catfish angler tarpon salmon sinker "
    "waders pontoon bobber halibut minnow perch steelhead muskie",
    "gambling": "casino blackjack roulette lottery slots craps jackpot sportsbook keno holdem "
    "wager raffle sweepstakes baccarat powerball racetrack handicapper bookmaker odds croupier",
    "cats": "kitten siamese tabby litterbox hamster gerbil guineapig ferret parakeet cockatiel "
    "aquarium goldfish iguana gecko tortoise terrarium catnip rabbit chinchilla birdcage",
    "basketball": "dunk hoops layup rebound backboard freethrow pointguard crossover slamdunk "
    "bracket alleyoop jumpshot fastbreak tipoff sixthman halfcourt forward travelling dribble "
    "shotclock",
    "jewelry": "necklace bracelet earrings diamond sapphire emerald pendant locket brooch "
    "cufflinks wristwatch platinum gemstone opal turquoise pearl amethyst garnet anklet ruby",
    "insurance": "premium deductible liability adjuster beneficiary medicare medicaid hmo copay "
    "underwriting insured coverage actuary indemnity claimant windstorm renters lapse rider "
    "umbrella",
    "medicine": "antibiotic aspirin steroid vaccine inhaler tablet insulin painkiller dosage "
    "prescription pharmacy sedative ointment antacid balm laxative syrup penicillin melatonin "
    "supplement",
    "photography": "camera lens tripod darkroom megapixel portrait slr flashbulb camcorder "
    "negatives shutter exposure panorama filmstrip album snapshot sepia polaroid viewfinder strobe",
    "programming": "javascript database cgi compiler freeware shareware debugger algorithm html "
    "php mysql linux perl flowchart encryption webmaster applet plugin syntax bytecode",
    "camping": "tent campground sleepingbag lantern canteen trailhead hiking campfire motorhome "
    "camper cooler firewood compass canoe kayak paddle thermos statepark knapsack mosquito",
    "decorating": "curtains wallpaper chandelier rug slipcover stencil valance tapestry pillow "
    "candle wreath lampshade cushion doormat mirror sconce vase potpourri upholstery bedspread",
    "hairstyles": "haircut ponytail braids updo curls dreadlocks extensions mullet perm wig "
    "toupee barber cornrows haircolor flatiron pixie mohawk hairline dandruff bangs",
    "motorcycles": "motorcycle chopper scooter dirtbike moped sidecar helmet handlebar chrome "
    "throttle saddlebag cruiser sportbike kickstand exhaust biker trike goggles clutch fairing",
    "golf": "putter fairway birdie bogey caddie clubhouse teetime wedge mulligan sandtrap "
    "drivingrange golfcart handicap backswing fiveiron proshop dogleg divot greenkeeper matchplay",
    "collecting": "coins stamps comics figurine teddybear memorabilia beermat postcard autograph "
    "porcelain teapot thimble snowglobe matchbook diecast lunchbox numismatic miniature marbles "
    "tintoy",
    "landscaping": "patio gazebo pergola pavers sod mower hedge driveway fence decking pond "
    "fountain gravel flagstone lawn chainsaw trimmer shrubs birdbath firepit",
    "hunting": "rifle shotgun deer elk camouflage treestand archery crossbow decoy antler "
    "pheasant quail riflescope ammunition muzzleloader taxidermy gamewarden venison duckblind "
    "whitetail",
    "horses": "saddle pony stallion mare bridle barrelracing dressage equestrian foal palomino "
    "bareback farrier hay jockey rodeo thoroughbred pasture gelding stirrup paddock",
    "taxes": "refund deduction exemption audit withholding taxreturn accountant bookkeeping "
    "capitalgains itemizing estatetax payrolltax propertytax salestax taxbracket taxcredit "
    "extension efile assessor filing",
    "boats": "sailboat yacht marina outboard dinghy catamaran propeller anchor houseboat jetski "
    "trawler regatta mast bilge hull dock buoy keel rudder lifejacket",
    "woodworking": "lathe chisel bandsaw tablesaw workbench dovetail plywood sander drillpress "
    "toolbox birdhouse clamp veneer varnish carpenter hacksaw screwdriver wrench nailgun mallet",
    "military": "veteran navy marines airforce barracks infantry medal battalion sergeant "
    "deployment submarine paratrooper bootcamp coastguard destroyer platoon corporal regiment "
    "dogtag frigate",
    "board games": "chess checkers backgammon dominoes mahjong cribbage dice jigsaw crossword "
    "puzzle trivia rummy canasta euchre pinochle bingo bridge hangman tictactoe cardtrick",
    "astronomy": "telescope nebula comet asteroid eclipse zodiac meteor orbit spacecraft shuttle "
    "astronaut supernova quasar jupiter saturn blackhole moonphase cosmology pulsar stargazing",
}
TOPICS = {topic: _words(words) for topic, words in _TOPICS.items()}
"""Twenty nouns for each topic; no noun is in two topics. The first topic is everybody's."""

SUFFIXES = _words(
    "finder world depot central planet online zone place source guide club market outlet corner "
    "house hub direct express galaxy network station village warehouse connection superstore forum "
    "digest weekly journal magazine report watch board talk exchange bazaar emporium gallery "
    "archive library index locator base works studio lab academy pro plus now today land nation "
    "street kingdom heaven mania spot site web"
)
ASPECTS = _words(
    "prices reviews pictures tips ideas history meaning problems repair parts rental supplies "
    "lessons classes jobs training design plans patterns coupons discounts clearance sale rules "
    "wholesale auction brands ratings comparison advice facts statistics definition instructions "
    "manual diagram video photos clipart download calculator contest events calendar schedule laws "
    "directory catalog samples templates forms safety costs names types sizes colors gifts "
    "accessories equipment stores companies rumors"
)
MODIFIERS = _words(
    "used new cheap best free discount vintage antique homemade easy professional small large "
    "custom local international popular rare unusual famous funny oldfashioned black white red "
    "blue green wooden portable electric digital modern classic luxury organic natural winter "
    "summer spring autumn christmas halloween childrens womens mens senior beginner advanced"
)
DOMAINS = ("com", "net", "org", "us")
_TOWN_STARTS = _words(
    "ash birch brook cedar clear cold deer dun east elm fair fern glen gold green hazel high lake "
    "laurel maple mill new north oak pine ridge rock silver south stone west willow"
)
_TOWN_ENDS = _words(
    "ford field ton ville wood burg dale haven port mont side view bury ham mouth creek crest "
    "hurst shire worth land gate bridge water cliff bank stead moor combe lea holm wick"
)
_NAME_STARTS = _words(
    "al bar bel bran cal cor dar del dor el fal fen gar gil hal har ing jor kel lan lor mar mel "
    "mor nar nor or pel quin ral ros sel tal tor ul val ver wen yar zel"
)
_NAME_ENDS = _words(
    "adine aby acott ander aris avel edge elby ember endale ensby erly etter evan icott idge iford "
    "illo imond inger ingsby isle itz ivar obart odin olfe omby onder onsky opper orin osley otham "
    "ovick uddle umber unsby urst uvane"
)

_NOUNS = len(TOPICS["portals"])
TOWNS = len(_TOWN_STARTS) * len(_TOWN_ENDS)
_ASKED = _NOUNS * len(ASPECTS)

SITES = _NOUNS * len(SUFFIXES)
"""Sites of a topic that people know by name: www.<name>.com."""

URLS = SITES * len(DOMAINS) * (1 + TOWNS)
"""All urls of a topic; the first `SITES` are the sites known by name."""

SPELLINGS = 4
"""Ways to type the name of a site: name, name.com, www.name.com, two words."""

QUESTIONS = _ASKED * (1 + len(MODIFIERS) + TOWNS)
"""Topical queries of a topic, short ones first."""

PERSONALS = 3 * _NOUNS * len(_NAME_STARTS) * len(_NAME_ENDS)
"""Personal queries of a topic in one home town."""


def number(*, rank: Ints, topic: Ints, kind: Ints | int = 0, home: Ints | int = 0) -> Ints:
    """Numbers of queries; with topic and rank alone, numbers of urls."""
    return (kind << _KIND_BIT) | (topic << _TOPIC_BIT) | (home << _HOME_BIT) | rank


def _pick(words: tuple[str, ...], index: str) -> str:
    return f"[{', '.join(repr(word) for word in words)}][({index}) + 1]"


def text_macros() -> str:
    """SQL statements that define `query_text(number)` and `url_text(number)` in DuckDB.

    The parts of a text are the digits of a rank in mixed radix: different ranks differ in a part.
    `scattered` permutes the ranks below `size` (a prime above every factor of `size` divides none),
    so that neighbours do not look alike, nor do the first ranks of two topics.
    """
    return _word_macros() + _url_macros() + _query_macros()


def _word_macros() -> str:
    nouns = tuple(noun for topic in TOPICS.values() for noun in topic)
    return f"""
CREATE MACRO topic_of(n) AS (n >> {_TOPIC_BIT}) & 63;
CREATE MACRO rank_of(n) AS n & {(1 << _HOME_BIT) - 1};
CREATE MACRO scattered(rank, size, topic) AS (rank * 1000003 + topic * 7919) % size;
CREATE MACRO noun(topic, i) AS {_pick(nouns, f"topic * {_NOUNS} + i % {_NOUNS}")};
CREATE MACRO town(i) AS {_pick(_TOWN_STARTS, f"i % {len(_TOWN_STARTS)}")}
    || {_pick(_TOWN_ENDS, f"i // {len(_TOWN_STARTS)}")};
CREATE MACRO person(i) AS {_pick(_NAME_STARTS, f"i % {len(_NAME_STARTS)}")}
    || {_pick(_NAME_ENDS, f"i // {len(_NAME_STARTS)} % {len(_NAME_ENDS)}")};
CREATE MACRO asked(topic, i) AS noun(topic, i) || ' ' || {_pick(ASPECTS, f"i // {_NOUNS}")};
CREATE MACRO two_words(topic, i, gap) AS
    noun(topic, i) || gap || {_pick(SUFFIXES, f"i // {_NOUNS}")};
"""


def _url_macros() -> str:
    return f"""
CREATE MACRO site_name(topic, site) AS CASE
    WHEN topic = 0 AND site < {len(FAMOUS)} THEN {_pick(FAMOUS, "site")}
    ELSE two_words(topic, scattered(site % {SITES}, {SITES}, topic), '') END;
CREATE MACRO local_name(topic, site, level) AS
    CASE WHEN level < {len(DOMAINS)} THEN '' ELSE town(level // {len(DOMAINS)} - 1) || '-' END
    || site_name(topic, site) || '.' || {_pick(DOMAINS, f"level % {len(DOMAINS)}")};
CREATE MACRO url_text(n) AS 'www.' || local_name(topic_of(n), rank_of(n), rank_of(n) // {SITES});
"""


def _query_macros() -> str:
    return f"""
CREATE MACRO site_query(topic, site, spelling) AS CASE spelling
    WHEN 0 THEN site_name(topic, site)
    WHEN 1 THEN site_name(topic, site) || '.com'
    WHEN 2 THEN 'www.' || site_name(topic, site) || '.com'
    ELSE CASE WHEN topic = 0 AND site < {len(FAMOUS)} THEN site_name(topic, site) || ' website'
         ELSE two_words(topic, scattered(site, {SITES}, topic), ' ') END END;
CREATE MACRO long_query(topic, i) AS CASE
    WHEN i < {_ASKED * len(MODIFIERS)}
    THEN {_pick(MODIFIERS, f"i // {_ASKED}")} || ' ' || asked(topic, i % {_ASKED})
    ELSE asked(topic, i % {_ASKED}) || ' ' || town(i // {_ASKED} - {len(MODIFIERS)}) END;
CREATE MACRO topical_query(topic, rank) AS CASE
    WHEN rank < {_ASKED} THEN asked(topic, scattered(rank, {_ASKED}, topic))
    ELSE long_query(topic, scattered(rank - {_ASKED}, {QUESTIONS - _ASKED}, topic)) END;
CREATE MACRO personal_query(topic, i, home) AS CASE i // {PERSONALS // 3}
    WHEN 0 THEN noun(topic, i) || ' ' || person(i // {_NOUNS}) || ' ' || home
    WHEN 1 THEN person(i // {_NOUNS}) || ' ' || noun(topic, i) || ' ' || home
    ELSE home || ' ' || person(i // {_NOUNS}) || ' ' || noun(topic, i) END;
CREATE MACRO query_text(n) AS CASE n >> {_KIND_BIT}
    WHEN {SITE} THEN
        site_query(topic_of(n), rank_of(n) // {SPELLINGS}, rank_of(n) % {SPELLINGS})
    WHEN {TOPICAL} THEN topical_query(topic_of(n), rank_of(n))
    ELSE personal_query(
        topic_of(n), scattered(rank_of(n), {PERSONALS}, 0), town((n >> {_HOME_BIT}) & {TOWNS - 1})
    ) END;
"""
