//! Kinds of things that questions mention by an instance: `euros` for a currency.

/// Kinds in alphabetical order, each with words for its instances.
pub(super) const KINDS: &[(&str, &str)] = &[
    ("animal", "dog cat horse bird fish cow pig sheep lion tiger elephant"),
    ("chart", "histogram pie scatter"),
    (
        "city",
        "london paris berlin tokyo beijing shanghai rome madrid vienna amsterdam lisbon \
         oslo moscow sydney toronto chicago boston seattle singapore hamburg munich \
         york",
    ),
    ("clothes", "shirt shoe jacket dress coat trousers"),
    ("color", "red green blue yellow black white orange purple pink brown gray grey"),
    (
        "country",
        "america usa england britain france germany spain italy china japan korea \
         russia india brazil canada australia mexico norway sweden netherlands austria \
         switzerland",
    ),
    ("cryptocurrency", "bitcoin btc ethereum eth dogecoin solana litecoin ripple tether"),
    (
        "currency",
        "euro dollar pound yen yuan renminbi rupee franc krone kroner krona peso ruble \
         rouble won zloty forint lira rand baht dirham usd eur gbp jpy cny rmb chf cad \
         aud inr krw",
    ),
    (
        "date",
        "monday tuesday wednesday thursday friday saturday sunday january february \
         march april june july august september october november december today \
         tomorrow yesterday",
    ),
    ("device", "laptop phone smartphone tablet monitor keyboard printer headphones camera"),
    (
        "disease",
        "cancer diabetes asthma influenza flu malaria stroke arthritis alzheimer \
         pneumonia melanoma leukemia covid tumor",
    ),
    ("distance", "kilometer kilometre mile meter metre"),
    ("drink", "coffee tea beer wine juice"),
    ("duration", "second minute hour"),
    (
        "food",
        "bread rice pasta soup cake cheese meat beef pork chicken egg salad pizza \
         noodle breakfast lunch dinner dessert vegetable fruit",
    ),
    ("fruit", "apple banana orange grape lemon strawberry"),
    ("furniture", "chair table desk sofa bed shelf lamp"),
    ("game", "chess poker sudoku puzzle minesweeper"),
    ("hospital", "clinic doctor dentist pharmacy"),
    (
        "language",
        "english french german spanish italian chinese japanese korean russian \
         portuguese arabic hindi turkish dutch polish swedish",
    ),
    ("metal", "gold silver platinum palladium copper"),
    ("music", "guitar piano violin drum melody rhythm"),
    ("restaurant", "cafe bar pub bistro pizzeria"),
    ("school", "kindergarten university college"),
    ("shape", "rectangle circle square triangle ellipse line polygon"),
    ("shop", "supermarket bakery pharmacy bookstore mall"),
    (
        "sport",
        "football soccer basketball tennis baseball hockey golf volleyball cricket \
         rugby swimming cycling",
    ),
    ("vehicle", "car truck van motorcycle bus tram bicycle"),
    (
        "weather",
        "rain raining snow snowing wind windy storm sunny sunshine cloudy fog hail \
         thunderstorm humidity temperature umbrella degree celsius fahrenheit",
    ),
    ("website", "amazon ebay google wikipedia facebook reddit twitter instagram"),
    ("weight", "kilogram gram ounce pound"),
];
